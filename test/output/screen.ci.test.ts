import { fileURLToPath } from 'node:url'
import { Terminal } from '@xterm/headless'
import { expect, test } from 'vitest'
import { sampleEvents, textDelta } from '../support/output-samples.ts'
import type { Step } from '../support/play-output.ts'
import { linesOf, runOnScreen, type ScreenOptions, type ScreenResult } from '../support/screen.ts'
import { corpus } from './markdown/corpus.ts'
import { rendered } from './markdown/render.ts'

const player = fileURLToPath(new URL('../support/play-output.ts', import.meta.url))

const flush: Step = { type: 'flush' }
const end: Step = { type: 'end' }
const fail: Step = { type: 'fail' }
const key: Step = { type: 'key' }
/** Presses the key that the step above waits for, as soon as the spinner is seen. */
const whenWaiting: ScreenOptions = { type: [{ when: 'waiting for text-model', keys: ' ' }] }

async function play(steps: readonly Step[], options: ScreenOptions = {}): Promise<ScreenResult> {
  const result = await runOnScreen(player, [JSON.stringify(steps)], options)
  expect(result.exitCode).toBe(0)
  return result
}

const conversation: readonly Step[] = [
  sampleEvents.start,
  sampleEvents['retry-wait'],
  sampleEvents['reasoning-delta'],
  flush,
  textDelta('The longest river'),
  flush,
  sampleEvents['citation-add'],
  textDelta(' of all\nis the Nile.'),
  flush,
  sampleEvents['tool-call'],
  end,
]

test('text, reasoning and notices keep to lines of their own, wrapped at 20 columns', async () => {
  const { lines } = await play(conversation, { columns: 20 })
  const retry = ['retry in 2 s (2     ', 'left): too many     ', 'requests (HTTP 429)']
  expect(lines.slice(0, 6)).toEqual([...retry, 'They greet.', 'The longest river   ', 'of all'])
  expect(lines.slice(6, 8)).toEqual(['citation: Example <h', 'ttps://example.com/>'])
  expect(lines.slice(8, -3)).toEqual(['is the Nile.', 'tool call: weather({', '"city":"Paris"})'])
})

test('spaces count in a command to paste: it is left to the terminal', async () => {
  const message = 'Try: modelgate video status v1 -o "my boat.mp4"'
  const { lines } = await play([{ type: 'warning-add', message }, end], { columns: 30 })
  expect(lines.slice(0, 2)).toEqual(['warning: Try: modelgate video ', 'status v1 -o "my boat.mp4"'])
})

test('a failure ends the line of the text before it speaks', async () => {
  const { lines } = await play([textDelta('Half a sen'), flush, fail], { columns: 20 })
  expect(lines.slice(0, 3)).toEqual(['Half a sen', 'modelgate: The      ', 'generation failed.'])
})

test('reasoning is dimmed, errors are red; NO_COLOR and TERM=dumb turn both off', async () => {
  const steps = [sampleEvents['reasoning-delta'], flush, fail]
  const { bytes } = await play(steps)
  expect(bytes).toContain('\u001b[2mThey greet.\u001b[22m')
  expect(bytes).toContain('\u001b[31mmodelgate: The generation failed.\u001b[39m')
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    expect((await play(steps, { env })).bytes).not.toContain('\u001b')
  }
  expect((await play(steps, { env: { NO_COLOR: '' } })).bytes).toContain('\u001b[2m')
})

test('a long wait shows a spinner, which is gone when the text comes', async () => {
  const { lines } = await play([sampleEvents.start, key, textDelta('Hello'), flush, end], whenWaiting)
  expect(lines).toEqual(['Hello', 'tokens: 3 in (0 cached), 5 out, 8 total'])
})

test('Ctrl-C leaves nothing of a live line, nor of the mark that the terminal makes of it', async () => {
  const waiting: readonly Step[] = [sampleEvents['job-progress'], { type: 'interrupt' }]
  const type = [{ when: '40%', keys: '\u0003' }]
  const { lines } = await runOnScreen(player, [JSON.stringify(waiting), 'files'], { type })
  expect(lines).toEqual(['modelgate: Stopped.'])
})

test('a terminal of two columns breaks nothing', async () => {
  const steps = [sampleEvents.start, key, textDelta('ab'), flush, fail]
  const { lines } = await play(steps, { ...whenWaiting, columns: 2 })
  expect(lines.join('').slice(0, 12)).toBe('abmodelgate:')
})

async function terminalWith(text: string, columns: number): Promise<Terminal> {
  const terminal = new Terminal({ cols: columns, scrollback: 1000, allowProposedApi: true, convertEol: true })
  const output = await rendered([text], { columns })
  await new Promise<void>((resolve) => terminal.write(output, resolve))
  return terminal
}

/** What a person sees of an answer. */
const screen = async (text: string, columns: number) => linesOf(await terminalWith(text, columns))

test('wide and right-to-left text and emoji at 40 columns', async () => {
  expect(await screen(corpus.world!, 40)).toMatchInlineSnapshot(`
    [
      "世界の言語 🌍",
      "",
      "• 日本語のテキストは単語の間に空白がない",
      "  ので、どこでも折り返すことができます。",
      "• 한국어는 띄어쓰기가 있어서 단어 사이에",
      "  서 줄을 바꿀 수 있습니다.",
      "• עברית נכתבת מימין לשמאל, וגם ערבית:   ",
      "  العربية من اليمين إلى اليسار.",
      "• Emoji: 👩‍👩‍👧 and 🇫🇷 and ⚠️ and é",
      "  (é), größer als nichts.",
    ]
  `)
})

test('a line that is wrapped stays one line for whoever copies it', async () => {
  const text = 'one two three four **five six** seven\n\n- one two three four five'
  const { active } = (await terminalWith(text, 24)).buffer
  const rows = [0, 1, 2, 3, 4].map((index) => active.getLine(index)!.isWrapped)
  expect(rows).toEqual([false, true, false, false, true])
})

test.each([80, 40])('in a pseudo-terminal of %i columns the same is on the screen', async (columns) => {
  const pieces = corpus.guide!.match(/[^]{1,7}/gu)!
  const steps = [...pieces.flatMap((piece) => [textDelta(piece), { type: 'flush' }]), { type: 'end' }]
  const env = { RENDER: 'auto', FORCE_HYPERLINK: '1' }
  const { lines, exitCode } = await runOnScreen(player, [JSON.stringify(steps)], { columns, env })
  const shown = await screen(corpus.guide!, columns)
  expect([exitCode, lines.slice(0, shown.length)]).toEqual([0, shown])
})
