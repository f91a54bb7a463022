import { expect, test } from 'vitest'
import { GenerationError } from '../../../src/errors.ts'
import { createOutput, loadMarkdown } from '../../../src/output/create-output.ts'
import { sampleDocument, sampleEvents, textDelta } from '../../support/output-samples.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext, type TestOverrides } from '../../support/test-context.ts'

async function opened(overrides: TestOverrides = {}) {
  const context = testContext({ terminal: true, env: { NO_COLOR: '1', TERM: 'xterm' }, ...overrides })
  const markdown = await loadMarkdown(context, 'auto')
  return { context, output: createOutput(context, { quiet: false, usage: false, markdown }) }
}

test('words appear as they come', async () => {
  const { context, output } = await opened({ columns: 40 })
  const seen: string[] = []
  for (const piece of ['- Hel', 'lo wo', 'rld, **bo', 'ld** and', ' more\n']) {
    output.event(textDelta(piece))
    await output.flush()
    seen.push(context.stdout.text)
  }
  const start = '• Hello world,'
  expect(seen).toEqual(['• Hel', '• Hello', start, `${start} **bold**`, `${start} **bold** and more\n`])
})

test('the width is followed from word to word', async () => {
  const stdout = memorySink({ isTerminal: true })
  const { output } = await opened({ stdout })
  const quote = '> one two three four five six seven\n'
  output.event(textDelta(quote))
  await output.flush()
  Object.assign(stdout, { columns: 20 })
  output.event(textDelta(quote))
  await output.end(sampleDocument)
  expect(stdout.text).toBe('│ one two three four five six seven\n│ one two three four\n│ five six seven\n')
})

test('a call of a tool and reasoning are shown behind all text before them, on lines of their own', async () => {
  const { context, output } = await opened()
  output.event(textDelta('An **open'))
  output.event(sampleEvents['tool-call'])
  expect(context.stdout.text).toBe('An **open\n')
  output.event(textDelta('|a|b|\n|-|-|\n|1|'))
  await output.flush()
  expect(context.stdout.text).toBe('An **open\n')
  output.event(sampleEvents['reasoning-delta'])
  await output.flush()
  expect(context.stdout.text).toBe('An **open\na   │ b\n────┼────\n1   │ \n')
  await output.end(sampleDocument)
  expect(context.stderr.text).toContain('They greet.')
})

test('colours that are still being loaded are not waited for by a notice', async () => {
  const { context, output } = await opened({ env: { TERM: 'xterm' } })
  output.event(textDelta('```js\nlet a\n```\n'))
  output.event(sampleEvents['tool-call'])
  expect(context.stdout.text).toBe('\u001b[2m```js\u001b[0m\nlet a\n\u001b[2m```\u001b[0m\n')
})

test('a citation comes in the middle of a sentence, and does not part it', async () => {
  const { context, output } = await opened()
  output.event(textDelta('An **open'))
  output.event(sampleEvents['citation-add'])
  output.event(textDelta(' mark**.'))
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe('An **open mark**.\n')
})

test('each candidate is a text of its own', async () => {
  const { context, output } = await opened()
  output.event(textDelta('```\na'))
  output.event(textDelta('# b\n*c*', 1))
  await output.end(sampleDocument)
  expect(context.stdout.text).toBe('```\na\n# b\n*c*\n')
})

test('what is held back is written when the command fails', async () => {
  const { context, output } = await opened()
  output.event(textDelta('a [link](http'))
  await output.error(new GenerationError('generation_failed', 'The generation failed.'))
  expect(context.stdout.text).toBe('a [link](http\n')
})

test('a terminal that has only lines, and a pipe, get the text as it is', async () => {
  expect(await loadMarkdown(testContext({ terminal: true, env: { TERM: 'dumb' } }), 'auto')).toBeUndefined()
  expect(await loadMarkdown(testContext(), 'auto')).toBeUndefined()
  expect(await loadMarkdown(testContext({ terminal: true }), 'never')).toBeUndefined()
})

/** Standard output of a call whose answer is Markdown. */
async function answered(argv: readonly string[], { env = {}, ...overrides }: TestOverrides = {}) {
  const { url } = await runningSandbox()
  const [folder, state] = [temporaryFolder(), temporaryFolder()]
  const own = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'key', MODELGATE_STATE_DIR: state }
  const call = ['generate', '-m', 'text-model', 'Show me markdown', '-q', ...argv]
  return (await runMain(call, { ...overrides, cwd: folder, env: { ...own, ...env } })).out
}

const terminal = { terminal: true, env: { TERM: 'xterm' } } as const
const isRendered = (out: string) => out.includes('• and a list') || out.includes('◦ and a list')

test.each<[string, readonly string[], TestOverrides, boolean]>([
  ['on a terminal', [], terminal, true],
  ['in a pipe', [], {}, false],
  ['in a pipe, if asked for', ['--render', 'always'], {}, true],
  ['by the environment', [], { env: { MODELGATE_RENDER: 'always' } }, true],
  ['not if not wanted', ['--render', 'never'], terminal, false],
  ['not as JSON', ['--json'], terminal, false],
  ['not as events', ['--jsonl'], terminal, false],
  ['not raw', ['--raw'], terminal, false],
  ['not as code', ['-x'], terminal, false],
])('Markdown is shown %s', async (_, argv, overrides, expected) => {
  expect(isRendered(await answered(argv, overrides))).toBe(expected)
})

test('in a pipe it has colours, and the width of COLUMNS, if wanted', async () => {
  const flags = ['--render', 'always']
  expect(await answered(flags)).toContain('\u001b[1mwhat\u001b[0m')
  const plain = await answered(flags, { env: { NO_COLOR: '1', COLUMNS: '30' } })
  expect(plain).not.toContain('\u001b')
  const lines = plain.split('\n').filter((line) => !line.startsWith('modelgate'))
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(30)
})

test('a mode that there is not', async () => {
  const { code, err } = await runMain(['generate', '--sandbox', 'hi', '--render', 'html'])
  expect([code, err]).toEqual([2, 'modelgate: --render must be one of auto, always, never, not "html".\n'])
})
