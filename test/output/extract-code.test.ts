import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { GenerationError } from '../../src/errors.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { extractCode } from '../../src/output/extract-code.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { runs } from '../support/sample.ts'

interface Extraction {
  readonly language?: string | undefined
  readonly terminal?: boolean
  readonly finish?: 'stop' | 'length'
}

/** Standard output of an answer in pieces, and the error it ends with. */
async function extracted(
  pieces: readonly string[],
  { language, terminal = false, finish = 'stop' }: Extraction = {},
) {
  const context = testContext({ terminal })
  const extract: OutputOptions['extract'] = (other) => extractCode(other, language)
  const output = createOutput(context, { quiet: false, usage: false, extract })
  for (const piece of pieces) {
    output.event(textDelta(piece))
    await output.flush()
  }
  const ended = output.end({ ...sampleDocument, finish_reason: finish })
  const error = await ended.then(
    () => undefined,
    (reason: Error) => reason.message,
  )
  return { out: context.stdout.text, error }
}

test.each<[string, string, string, string?]>([
  ['the first of several', 'Text\n```sh\nls\n```\n```sh\nrm\n```\n', 'ls\n'],
  ['the first of a language', '```sh\nls\n```\n```python\nprint()\n```\n', 'print()\n', 'python'],
  ['by another name of the language', '```python3 title="a.py"\nprint()\n```\n', 'print()\n', 'PY'],
  ['tildes and a longer fence', '~~~~\n~~~\n```\n~~~~~\nno\n', '~~~\n```\n'],
  ['tabs, and ends of lines as they are', '```make\r\nall:\r\n\tcc\r\n```\r\n', 'all:\r\n\tcc\r\n'],
  ['in a list', '1. So:\n   ```sh\n   if x\n     y\n   ```\n', 'if x\n  y\n'],
  ['in a quote', '> ```\n> a\n>  b\n> ```\n', 'a\n b\n'],
  ['empty lines', '```\n\na\n\n```\n', '\na\n\n'],
  ['nothing in it', '```\n```\n', ''],
  ['a fence that the text ends in', '```\na\nb', 'a\nb\n'],
  ['control characters, in a pipe', '```\na\u001b[31m\n```\n', 'a\u001b[31m\n'],
  ['what looks like a fence in a line', 'see ```ls``` and\n```\nok\n```\n', 'ok\n'],
])('%s', async (_, text, code, language) => {
  const expected = { out: code, error: undefined }
  expect(await extracted([text], { language })).toEqual(expected)
  expect(await extracted(text.split(''), { language })).toEqual(expected)
})

test.each<[string, string, string?]>([
  ['I cannot\ndo that.', 'The answer has no fenced code. It begins: I cannot do that.'],
  ['    rm -rf /\n', 'The answer has no fenced code. It begins: rm -rf /'],
  ['```sh\nls\n```\n', 'The answer has no fenced code block in python. It begins: ```sh ls ```', 'python'],
  ['', 'The answer has no fenced code.'],
  ['x'.repeat(301), `The answer has no fenced code. It begins: ${'x'.repeat(300)}…`],
])('of %j there is nothing for a shell to run, and it fails: %s', async (text, error, language) => {
  expect(await extracted([text], { language })).toEqual({ out: '', error })
})

test('code that the token limit has cut is a failure', async () => {
  const { out, error } = await extracted(['```\na\nb'], { finish: 'length' })
  expect([out, error]).toEqual(['a\n', 'The answer was truncated by the token limit inside the code.'])
  const whole = await extracted(['```\na\n```\nand so'], { finish: 'length' })
  expect(whole).toEqual({ out: 'a\n', error: undefined })
})

test('lines are passed on when they are whole; one that breaks off is not', async () => {
  const context = testContext()
  const output = createOutput(context, { quiet: true, usage: false, extract: (other) => extractCode(other) })
  const seen: string[] = []
  for (const piece of ['```\nrm -rf /tmp', '/x\nrm -rf /home', '/me']) {
    output.event(textDelta(piece))
    await output.flush()
    seen.push(context.stdout.text)
  }
  expect(seen).toEqual(['', 'rm -rf /tmp/x\n', 'rm -rf /tmp/x\n'])
  await output.error(new GenerationError('generation_failed', 'The generation failed.'))
  expect(context.stdout.text).toBe('rm -rf /tmp/x\n')
})

test('on a terminal the code is neither wrapped nor obeyed', async () => {
  const line = 'echo one two three four five six seven eight nine ten eleven twelve thirteen fourteen'
  const { out } = await extracted([`\`\`\`\n${line} \u001b[2J\n\`\`\`\n`], { terminal: true })
  expect(out).toBe(`${line} ␛[2J\n`)
})

test('however the answer is cut, the code is the same', async () => {
  const marks = ['```', '~~~', '\n', '\r\n', ' ', '    ', '> ', '- ', 'a', '`', '\t', '```sh\n', '\n```\n']
  const parts = fc.constantFrom(...marks)
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { maxLength: 30 }), async (pieces) => {
      const whole = await extracted([pieces.join('')])
      expect(await extracted(pieces)).toEqual(whole)
    }),
    runs(200),
  )
})

const ask = ['Show me markdown', '-q', '-m', 'text-model']
const run = async (argv: readonly string[], cwd = temporaryFolder()) => {
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'key', MODELGATE_STATE_DIR: temporaryFolder() }
  return runMain(argv, { cwd, env })
}
const command = 'modelgate image create -o boat.png "A paper boat"\n'

test.each([['-x'], ['--extract', 'bash']])('%s %s', async (...flags) => {
  expect(await run(['generate', ...ask, ...flags])).toMatchObject({ code: 0, out: command })
  expect(await run(['respond', ...ask, ...flags])).toMatchObject({ code: 0, out: command })
})

test('the word behind -x is of the prompt, if it is no language', async () => {
  const { out } = await runMain(['generate', '--sandbox', '-x', 'Show me markdown', '--dry-run'])
  expect(out).toContain('Show me markdown')
})

test('-o FILE gets the code; --json has it beside the text', async () => {
  const cwd = temporaryFolder()
  await run(['generate', ...ask, '-x', '-o', 'a.sh'], cwd)
  expect(readFileSync(join(cwd, 'a.sh'), 'utf8')).toBe(command)
  const { out } = await run(['generate', ...ask, '-x', '--json'])
  const document = JSON.parse(out) as { readonly text: string; readonly extracted: string }
  expect(document.extracted).toBe(command)
  expect(document.text).toContain('```sh\n')
})

test('without code: exit 9, and what the answer says instead on standard error', async () => {
  const { code, out, err } = await run(['generate', 'Hello', '-x', ...ask.slice(1)])
  expect([code, out]).toEqual([9, ''])
  expect(err).toContain('The answer has no fenced code. It begins: [sandbox] You asked: “Hello”.')
  expect(err).toContain('The whole answer, if the log keeps it: modelgate log show\n')
})
