import { expect, test } from 'vitest'
import { FileError, GenerationError } from '../../src/errors.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { defuse, defuseJson } from '../../src/output/gate.ts'
import { sampleDocument, sampleEvents } from '../support/output-samples.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'

const actions = { GITHUB_ACTIONS: 'true' }

/** Undoes what the runner undoes: it reads a line with this pattern, then the escapes. */
function readAnnotation(line: string) {
  const [, level, title, data] = /^::(\w+) title=([^:,]*)::([^\r\n]*)$/.exec(line) ?? []
  const decode = (text = '') => decodeURIComponent(text.replaceAll(/%(?!0D|0A|3A|2C|25)/g, '%25'))
  return { level, title: decode(title), message: decode(data) }
}

/** Standard error of a failure. */
async function failed(message: string, overrides: TestOverrides = { env: actions }): Promise<string> {
  const context = testContext(overrides)
  const error = new GenerationError('generation_failed', message)
  await createOutput(context, { quiet: false, usage: false }).error(error)
  return context.stderr.text
}

test('an error is an annotation, too, and the last line', async () => {
  const { code, out, err } = await runMain(['generate', '--temperature', 'warm', 'Hi'], { env: actions })
  expect([code, out]).toEqual([2, ''])
  const lines = err.trimEnd().split('\n')
  expect(lines[0]).toMatch(/^modelgate: /)
  const annotations = lines.filter((line) => line.startsWith('::'))
  expect(annotations).toEqual([lines.at(-1)])
  const { level, title, message } = readAnnotation(annotations[0]!)
  expect([level, title]).toEqual(['error', expect.stringMatching(/^modelgate: \w+ \(exit 2\)$/)])
  expect(message).toContain('temperature')
})

test('all problems of a call are lines of one annotation, with the hint', async () => {
  const context = testContext({ env: actions })
  const error = new FileError('file_exists', 'a, b: 100%\nc::d', { hint: 'Try\nthis.', billed: 'no' })
  await createOutput(context, { quiet: true, usage: false }).error(error)
  expect(context.stderr.text.split('\n')).toEqual([
    'modelgate: a, b: 100%',
    'modelgate: c::d',
    '  hint: Try',
    '  hint: this.',
    '::error title=modelgate%3A file_exists (exit 10)::a, b: 100%25%0Ac::d%0Ahint: Try%0Ahint: this.',
    '',
  ])
})

test('a warning is one, a retry is none', () => {
  const context = testContext({ env: actions })
  const output = createOutput(context, { quiet: false, usage: false })
  output.event({ type: 'warning-add', message: 'n is deprecated' })
  output.event(sampleEvents['retry-wait'])
  expect(context.stderr.text.split('\n')).toEqual([
    'warning: n is deprecated',
    '::warning title=modelgate::n is deprecated',
    'retry in 2 s (2 left): too many requests (HTTP 429)',
    '',
  ])
})

test('nothing in a message is a command of its own, or a secret', async () => {
  const key = 'sk-test-canary-0123456789'
  const message = `x\r\n::set-env name=PATH::y\n##[add-path]/evil ${key}`
  const text = await failed(message, { env: { ...actions, MODELGATE_API_KEY: key } })
  const lines = text.split('\n')
  expect(lines.filter((line) => /^\s*::|##\[/.test(line))).toHaveLength(1)
  expect(readAnnotation(lines.find((line) => line.startsWith('::'))!).message).toMatch(
    /^x \n: :set-env name=PATH::y\n## \[add-path\]\/evil /,
  )
  expect(text).not.toContain(key)
})

test.each(['json', 'jsonl'] as const)(
  '--%s leaves them out: standard error is read by programs',
  async (mode) => {
    const context = testContext({ env: actions })
    const output = createOutput(context, { mode, quiet: false, usage: false })
    output.event({ type: 'warning-add', message: 'odd' })
    await output.error(new GenerationError('generation_failed', 'No.'), sampleDocument)
    expect(`${context.stderr.text}${context.stdout.text}`).not.toMatch(/^::/m)
  },
)

test.each([
  ['another CI', { CI: 'true' }, false],
  ['GITHUB_ACTIONS=false', { GITHUB_ACTIONS: 'false' }, false],
  ['a terminal of a job', actions, true],
])('%s has none', async (_, env, terminal) => {
  expect(await failed('No.', { env, terminal })).not.toContain('::error')
})

test.each([
  ['::error::x', ': :error::x'],
  ['  ::error::x', '  : :error::x'],
  ['a ::error::x', 'a ::error::x'],
  ['a ##[group]b', 'a ## [group]b'],
  ['##vso[task.setvariable variable=a]b', '## vso[task.setvariable variable=a]b'],
  ["##teamcity[buildNumber '1']", "## teamcity[buildNumber '1']"],
  ['## heading [a](b)', '## heading [a](b)'],
])('of what runners obey %s is told as %s', (line, told) => {
  expect(defuse(line)).toBe(told)
})

test('what runners obey is escaped in JSON, which stays the same document', () => {
  const value = { text: '##[group]a ##vso[x] ## b' }
  const json = defuseJson(JSON.stringify(value))
  expect(json).not.toMatch(/##\w*\[/)
  expect(JSON.parse(json)).toEqual(value)
})

test('what runners obey is neither in a report nor in a document on standard output', async () => {
  const prompt = 'A hill ##[group]x'
  const cwd = temporaryFolder()
  const { url } = await runningSandbox()
  const env = { ...actions, MODELGATE_STATE_DIR: cwd, MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'key' }
  const words = ['image', 'create', '-m', 'gpt-image-2', '--json', '--sidecar', '-o', 'a.png', prompt]
  const made = await runMain(words, { env, cwd })
  expect([made.code, made.out.includes('##[')]).toEqual([0, false])
  expect((await runMain(['inspect', 'a.png'], { env, cwd })).out).toContain('prompt\tA hill ## [group]x\n')
})
