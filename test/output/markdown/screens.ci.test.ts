import { fileURLToPath } from 'node:url'
import { Terminal } from '@xterm/headless'
import { expect, test } from 'vitest'
import { linesOf, runOnScreen } from '../../support/screen.ts'
import { textDelta } from '../../support/output-samples.ts'
import { corpus } from './corpus.ts'
import { rendered } from './render.ts'

const player = fileURLToPath(new URL('../../support/play-output.ts', import.meta.url))

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
