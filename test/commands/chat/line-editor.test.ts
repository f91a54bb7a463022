import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { openLineEditor } from '../../../src/commands/chat/line-editor.ts'

type Complete = (line: string) => Promise<readonly [readonly string[], string]>

/** An editor on a terminal that is a pair of streams. */
function editor({
  history = [] as readonly string[],
  complete = (async (line) => [[], line]) as Complete,
} = {}) {
  const modes: boolean[] = []
  const input = Object.assign(new EventEmitter(), {
    resume() {},
    pause() {},
    setRawMode: (mode: boolean) => void modes.push(mode),
  })
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const lines = openLineEditor({
    marksPastes: true,
    input,
    output,
    prompts: ['> ', '… '],
    history,
    complete: async (line) => {
      const [found, replaced] = await complete(line)
      return [[...found], replaced]
    },
    onInterrupt: () => true,
  })
  onTestFinished(() => lines.close())
  return {
    ...lines,
    type: (keys: string | Uint8Array) => input.emit('data', Buffer.from(keys as string)),
    input,
    modes,
    shown: () => shown,
  }
}

const keys = 'x\u001b[D\u001b[200~é\nb\u001b[201~y\u001b\rz\r'

test.each(Array.from({ length: Buffer.from(keys).length }, (_, at) => at))(
  'keys and pastes may come in two pieces, also in the middle of a mark or a character: at byte %i',
  async (at) => {
    const { type, read } = editor()
    const message = read()
    const bytes = Buffer.from(keys)
    // Escape alone is a key, and no mark.
    if (bytes[at - 1] !== 0x1b) type(bytes.subarray(0, at))
    type(bytes.subarray(bytes[at - 1] === 0x1b ? 0 : at))
    expect(await message).toBe('é\nby\nzx')
  },
)

test('what is typed behind a message is the next one, and behind that too', async () => {
  const { type, read } = editor()
  const first = read()
  type('one\rtwo\rthree')
  expect(await first).toBe('one')
  expect(await read()).toBe('two')
  const third = read()
  type('!\r')
  expect(await third).toBe('three!')
})

test('keys wait for a completion', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly [string[], string]>()
  const { type, read } = editor({ complete: () => promise })
  const message = read()
  type('@no\tand\r')
  resolve([['@notes.txt '], '@no'])
  expect(await message).toBe('@notes.txt and')
})

test('while an answer comes, Ctrl-C stops it, and takes back what was typed', async () => {
  const { type, read, hold } = editor()
  const first = read()
  type('one\r')
  await first
  let stops = 0
  const release = hold(() => stops++)
  type('typed ahead')
  type('\u0003')
  release()
  type('\u0003')
  expect(stops).toBe(1)
  const next = read()
  type('two\r')
  expect(await next).toBe('two')
})

test('the end of the terminal, and of the chat, end the reading', async () => {
  const { read, input } = editor()
  const message = read()
  input.emit('end')
  expect(await message).toBe(undefined)
  expect(await read()).toBe(undefined)
})

test('a message of several lines is recalled in one, and sent as it was', async () => {
  const { type, read, added } = editor({ history: ['old\none'] })
  const first = read()
  type('\u001b[A!\r')
  expect(await first).toBe('old\none!')
  expect(added).toEqual(['old\none!'])
})

test('the terminal is given back', () => {
  const { close, modes } = editor()
  close()
  expect([modes[0], modes.at(-1)]).toEqual([true, false])
})

test('a thousand pasted lines are one message', async () => {
  const { type, read } = editor()
  const message = read()
  const text = Array.from({ length: 1000 }, (_, line) => `line ${line}`).join('\n')
  type(`\u001b[200~${text}\u001b[201~\r`)
  expect(await message).toBe(text)
})

/** What the editor itself may send to a terminal: positions, and what pastes are marked by. */
const ownSequences = /\u001b\[(?:\d*[GJK]|\?2004[hl])/g
const attack = 'a\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202eb\u0008'

test('neither completions, nor earlier messages, nor pastes act on the terminal', async () => {
  const found = ['model-x', `model-${attack}`, 'model-\ny']
  const { type, read, shown } = editor({ history: [attack], complete: async () => [found, 'mod'] })
  void read()
  type('mod\t\t')
  await new Promise((resolve) => setImmediate(resolve))
  type('\u0015\u001b[A')
  type(`\u0015\u001b[200~${attack}\u001b[201~`)
  await new Promise((resolve) => setImmediate(resolve))
  expect(shown()).toContain('model-x')
  expect(shown().match(/a␛\]52/g)?.length).toBeGreaterThanOrEqual(2)
  expect(shown().replaceAll(ownSequences, '')).not.toMatch(
    /[\0-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202e]/,
  )
})
