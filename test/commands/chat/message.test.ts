import { expect, onTestFinished, test } from 'vitest'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { openMessageReader, readMessage, type Message } from '../../../src/commands/chat/message-reader.ts'

const files = new Set(['notes.txt', 'my notes.txt', 'photo', '~/a.png', 'odd.txt.'])
const meant = (text: string) => readMessage(text, (path) => files.has(path))
const text = (words: string, ...attach: string[]): Message => ({ kind: 'text', text: words, attach })

test.each<[string, Message]>([
  ['Hello', text('Hello')],
  ['  Hello\n there ', text('  Hello\n there ')],
  [' \n', { kind: 'empty' }],
  ['What is @notes.txt?', text('What is notes.txt?', 'notes.txt')],
  ['@notes.txt, @photo: compare', text('notes.txt, photo: compare', 'notes.txt', 'photo')],
  ['See @"my notes.txt".', text('See my notes.txt.', 'my notes.txt')],
  ['(@notes.txt)', text('(notes.txt)', 'notes.txt')],
  ['@odd.txt.', text('odd.txt.', 'odd.txt.')],
  ['@~/a.png', text('~/a.png', '~/a.png')],
  ['@https://a.test/b?c=1.', text('https://a.test/b?c=1.', 'https://a.test/b?c=1')],
  ['Ask @ada or a@b.test', text('Ask @ada or a@b.test')],
  ['@gone.txt and @./gone', text('gone.txt and ./gone', 'gone.txt', './gone')],
  [String.raw`\@notes.txt is a name`, text('@notes.txt is a name')],
])('%j', (typed, message) => {
  expect(meant(typed)).toEqual(message)
})

test.each<[string, Message]>([
  ['/help', { kind: 'command', name: 'help', rest: '' }],
  [' /model  some-model ', { kind: 'command', name: 'model', rest: 'some-model' }],
  ['/system one\ntwo', { kind: 'command', name: 'system', rest: 'one\ntwo' }],
  ['/quit', { kind: 'command', name: 'exit', rest: '' }],
  ['/new', { kind: 'unknown', name: 'new', near: undefined }],
  ['/retyr', { kind: 'unknown', name: 'retyr', near: 'retry' }],
  ['/constructor', { kind: 'unknown', name: 'constructor', near: undefined }],
  ['/', { kind: 'unknown', name: '', near: undefined }],
  ['/etc/hosts is a file', text('/etc/hosts is a file')],
  ['//help is a word', text('/help is a word')],
])('a slash begins a command: %j', (typed, message) => {
  expect(meant(typed)).toEqual(message)
})

/** A reader on a terminal that is a pair of streams. */
function reader() {
  const input = Object.assign(new EventEmitter(), { resume() {}, pause() {}, setRawMode() {} })
  const output = new PassThrough()
  let shown = ''
  let interrupts = 0
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const messages = openMessageReader({
    marksPastes: true,
    input: input as unknown as NodeJS.ReadStream,
    output,
    prompts: ['> ', '… '],
    onInterrupt: () => void interrupts++,
  })
  onTestFinished(() => messages.close())
  const type = (keys: string | Uint8Array) => input.emit('data', Buffer.from(keys as string))
  return {
    ...messages,
    type,
    /** The next message, after these keys. */
    async readTyped(keys: string) {
      const message = messages.read()
      type(keys)
      return await message
    },
    input,
    shown: () => shown,
    interrupts: () => interrupts,
  }
}

const paste = (text: string) => `\u001b[200~${text}\u001b[201~`

const keys = 'x\u001b[D\u001b[200~é\nb\u001b[201~yz\r'

test.each(Array.from({ length: Buffer.from(keys).length }, (_, at) => at))(
  'keys and pastes may come in two pieces, also in the middle of a mark or a character: at byte %i',
  async (at) => {
    const { type, read } = reader()
    const message = read()
    const bytes = Buffer.from(keys)
    // Escape alone is a key, and no mark.
    if (bytes[at - 1] !== 0x1b) type(bytes.subarray(0, at))
    type(bytes.subarray(bytes[at - 1] === 0x1b ? 0 : at))
    expect(await message).toBe('é\nbyzx')
  },
)

test('what is typed behind a message is the next one, and behind that too', async () => {
  const { read, readTyped } = reader()
  expect(await readTyped('one\rtwo\rthree')).toBe('one')
  expect(await read()).toBe('two')
  expect(await readTyped('!\r')).toBe('three!')
})

test('while nothing is read, Ctrl-C is passed on, and takes back what was typed', async () => {
  const { type, readTyped, interrupts } = reader()
  await readTyped('one\r')
  type('typed ahead')
  type('\u0003')
  expect(interrupts()).toBe(1)
  expect(await readTyped('two\r')).toBe('two')
})

test.each([
  ['a block', '"""\rone\r\r  two"""\r', 'one\n\n  two'],
  ['a block whose marks stand alone', '"""\rone\r"""\r', 'one'],
  ['a block in one line', '"""one"""\r', 'one'],
  ['a paste in a block', `"""\r${paste('a\nb')}c\r"""\r`, 'a\nbc'],
  ['a paste like a block', `${paste('"""Doc."""\ndef f(): 1')}\r`, '"""Doc."""\ndef f(): 1'],
  ['a paste with a tab and an empty line', `${paste('a\tb\r\n\r\nc')}\r`, 'a\tb\n\nc'],
  ['a paste into a line', `xy\u001b[D${paste('a\nb')}\r`, 'xa\nby'],
  ['two pastes', `${paste('a\n')}${paste('b\n')}\r`, 'a\nb\n'],
  ['a paste with control characters, which are shown', `${paste('a\u0003b')}\r`, 'a␃b'],
  ['a block that Ctrl-C throws away', '"""\rone\rtwo\u0003three\r', 'three'],
])('a message of several lines: %s', async (_, typed, expected) => {
  expect(await reader().readTyped(typed)).toBe(expected)
})

test('the end of the terminal, and of the chat, end the reading', async () => {
  const { read, input } = reader()
  const message = read()
  input.emit('end')
  expect(await message).toBe(undefined)
  expect(await read()).toBe(undefined)
})

test('a message of several lines is recalled in one, and sent as it was', async () => {
  const { readTyped } = reader()
  expect(await readTyped(`${paste('old\none')}\r`)).toBe('old\none')
  expect(await readTyped('\u001b[A!\r')).toBe('old\none!')
})

/** What the reader itself may send to a terminal: positions, and what pastes are marked by. */
const ownSequences = /\u001b\[(?:\d*[GJK]|\?2004[hl])/g
const attack = 'a\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202eb\u0008'

test('a paste does not act on the terminal', async () => {
  const { type, read, shown } = reader()
  void read()
  type(paste(attack))
  expect(shown()).toContain('a␛]52')
  expect(shown().replaceAll(ownSequences, '')).not.toMatch(
    /[\0-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202e]/,
  )
})
