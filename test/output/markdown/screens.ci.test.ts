import { fileURLToPath } from 'node:url'
import { Terminal } from '@xterm/headless'
import { expect, test } from 'vitest'
import { linesOf, runOnScreen } from '../../support/screen.ts'
import { textDelta } from '../../support/output-samples.ts'
import { corpus } from './corpus.ts'
import { rendered, type RenderOptions } from './render.ts'

const player = fileURLToPath(new URL('../../support/play-output.ts', import.meta.url))

/** What a person sees of an answer. */
async function screen(text: string, columns: number, options: RenderOptions = {}): Promise<string[]> {
  const terminal = new Terminal({
    cols: columns,
    rows: 24,
    scrollback: 1000,
    allowProposedApi: true,
    convertEol: true,
  })
  const output = await rendered([text], { columns, ...options })
  await new Promise<void>((resolve) => terminal.write(output, resolve))
  return linesOf(terminal)
}

test('an answer at 80 columns', async () => {
  expect(await screen(corpus.guide!, 80)).toMatchInlineSnapshot(`
    [
      "Installing on Linux",
      "",
      "You'll need Node.js 22 or newer and about 200 MB of disk space. Run node        ",
      "--version first; if it prints v18, see the upgrade guide.",
      "",
      "Steps",
      "",
      "1. Download the archive:",
      "",
      "   \`\`\`bash",
      "   curl -LO https://example.com/tool_1.2.tar.gz # about 40 MB",
      "   tar xf tool_1.2.tar.gz && cd tool_1.2",
      "   \`\`\`",
      "",
      "2. Set MY_TOOL_HOME and the snake_case_name in ~/.profile.",
      "   ◦ On Debian, use apt:",
      "     1. sudo apt update",
      "     2. sudo apt install tool",
      "   ◦ On Fedora: dnf install tool.",
      "3. Check that 2 * 3 * 4 is 24 and *.tmp files are gone.",
      "",
      "│ Note: this is only needed once.",
      "│ It may take a while:",
      "│",
      "│ │ patience is a virtue",
      "",
      "☑ downloaded",
      "☐ installed",
      "",
      "────────────────────────────────────────────────────────────────────────────────",
      "",
      "Questions? See https://example.com/faq or mail help@example.com.",
    ]
  `)
})

test('the same at 40 columns, without colours and links', async () => {
  expect(await screen(corpus.guide!, 40, { colors: false, hyperlinks: false })).toMatchInlineSnapshot(`
    [
      "# Installing on Linux",
      "",
      "You'll need **Node.js 22** or newer and ",
      "about *200 MB* of disk space. Run \`node ",
      "--version\` first; if it prints \`v18\`,   ",
      "see the upgrade guide                   ",
      "(https://nodejs.org/en/download).",
      "",
      "## Steps",
      "",
      "1. Download the archive:",
      "",
      "   \`\`\`bash",
      "   curl -LO https://example.com/tool_1.2",
      ".tar.gz # about 40 MB",
      "   tar xf tool_1.2.tar.gz && cd tool_1.2",
      "   \`\`\`",
      "",
      "2. Set \`MY_TOOL_HOME\` and the           ",
      "   snake_case_name in **~/.profile**.",
      "   ◦ On *Debian*, use \`apt\`:",
      "     1. \`sudo apt update\`",
      "     2. \`sudo apt install tool\`",
      "   ◦ On **Fedora**: \`dnf install tool\`.",
      "3. Check that 2 * 3 * 4 is 24 and *.tmp ",
      "   files are gone.",
      "",
      "│ **Note:** this is only needed once.",
      "│ It may take a while:",
      "│",
      "│ │ patience is a virtue",
      "",
      "☑ downloaded",
      "☐ installed",
      "",
      "────────────────────────────────────────",
      "",
      "Questions? See https://example.com/faq  ",
      "or mail help@example.com.",
    ]
  `)
})

test('tables at 40 and 20 columns', async () => {
  expect(await screen(corpus.comparison!, 40)).toMatchInlineSnapshot(`
    [
      "Here is how the three compare:",
      "Language │ Typing  │ Best for    │ Speed",
      "─────────┼─────────┼─────────────┼──────",
      "Python   │ dynamic │ scripts,    │    1x",
      "         │         │ data        │      ",
      "         │         │ science     │      ",
      "Go       │ static  │ servers,    │   40x",
      "         │         │ command-    │      ",
      "         │         │ line tools  │      ",
      "Rust     │ static  │ systems     │   55x",
      "         │         │ where every │      ",
      "         │         │ cycle and   │      ",
      "         │         │ every byte  │      ",
      "         │         │ counts      │      ",
      "TypeScri │ static  │ web front   │   12x",
      "pt       │         │ ends        │      ",
      "",
      "In short: C++ Rust for speed, go for    ",
      "~~~everything~~~ servers.",
      "",
      "Name    │ Value",
      "────────┼────────",
      "a | b   │ x | y",
    ]
  `)
  expect(await screen(corpus.comparison!, 20)).toMatchInlineSnapshot(`
    [
      "Here is how the     ",
      "three compare:",
      "Language: Python",
      "Typing: dynamic",
      "Best for: scripts,",
      "data science",
      "Speed: 1x",
      "────────",
      "Language: Go",
      "Typing: static",
      "Best for: servers,",
      "command-line tools",
      "Speed: 40x",
      "────────",
      "Language: Rust",
      "Typing: static",
      "Best for: systems",
      "where every cycle",
      "and every byte",
      "counts",
      "Speed: 55x",
      "────────",
      "Language: TypeScript",
      "Typing: static",
      "Best for: web front",
      "ends",
      "Speed: 12x",
      "",
      "In short: C++ Rust  ",
      "for speed, go for   ",
      "~~~everything~~~    ",
      "servers.",
      "",
      "Name    │ Value",
      "────────┼────────",
      "a | b   │ x | y",
    ]
  `)
})

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

test('code at 40 columns', async () => {
  expect(await screen(corpus.code!, 40)).toMatchInlineSnapshot(`
    [
      "The bug is in parse(): the loop never   ",
      "ends.",
      "",
      "\`\`\`typescript",
      "/* A comment over",
      "   two lines */",
      "export function parse(text: string): str",
      "ing[] {",
      "        const parts = \`\${text}",
      "still a string\`.split('\\n') // and a com",
      "ment",
      "        return parts.filter((part) => pa",
      "rt !== '')",
      "}",
      "\`\`\`",
      "",
      "~~~python",
      "def f(x):",
      "    """A docstring",
      "    over two lines."""",
      "    return x if x else None  # \`\`\` no fe",
      "nce",
      "~~~",
      "",
      "\`\`\`",
      "plain <b>text</b> with *stars*",
      "\`\`\`",
      "",
      "    indented code",
      "",
      "Done.",
    ]
  `)
})

test('a line that is wrapped stays one line for whoever copies it', async () => {
  const terminal = new Terminal({ cols: 24, rows: 10, allowProposedApi: true, convertEol: true })
  const output = await rendered(['one two three four **five six** seven\n\n- one two three four five'], {
    columns: 24,
  })
  await new Promise<void>((resolve) => terminal.write(output, resolve))
  const rows = Array.from({ length: 5 }, (_, index) => terminal.buffer.active.getLine(index)!.isWrapped)
  expect(rows).toEqual([false, true, false, false, true])
})

test.each([80, 40])('in a pseudo-terminal of %i columns the same is on the screen', async (columns) => {
  const steps = (corpus.guide!.match(/[^]{1,7}/gu) ?? []).flatMap((piece) => [
    textDelta(piece),
    { type: 'flush' },
  ])
  const env = { RENDER: 'auto', FORCE_HYPERLINK: '1' }
  const { lines, exitCode } = await runOnScreen(player, [JSON.stringify([...steps, { type: 'end' }])], {
    columns,
    env,
  })
  expect(exitCode).toBe(0)
  const shown = await screen(corpus.guide!, columns)
  expect(lines.slice(0, shown.length)).toEqual(shown)
})
