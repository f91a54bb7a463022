import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { sse } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const chunk = { candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] }

const envFor = (url: string) => ({
  MODELGATE_BASE_URL: url,
  MODELGATE_TEXT_MODEL: 'm',
  MODELGATE_API_KEY: 'key',
})

// The server of each test fails it when a connection comes that has no reply.
test.each<[string, readonly string[], RegExp]>([
  ['an empty prompt', ['generate', ''], /^modelgate: The prompt is empty\.\n$/],
  ['invalid JSON', ['generate', '--tools', '[,]', 'hi'], /--tools is not valid JSON: line 1, column 2/],
  [
    'an unknown field',
    ['respond', '--body', '{"modle":"x"}', 'hi'],
    /"modle" is not .* did you mean "model"\?/,
  ],
  ['a number out of range', ['respond', '--top-p', '1.1', 'hi'], /--top-p must be from 0 to 1, not 1\.1\./],
  [
    'two exclusive flags',
    ['respond', '--previous-response-id', 'r', '--conversation', 'c', 'hi'],
    /cannot be used together/,
  ],
  ['a bad schema', ['respond', '--schema', '{"type":1}', 'hi'], /--schema is not a valid JSON Schema/],
  [
    'an unknown option',
    ['generate', '--temprature', '1', 'hi'],
    /unknown option '--temprature' \(Did you mean --temperature\?\)\n {2}hint: See modelgate generate --help\./,
  ],
  [
    'an unknown option of every command',
    ['respond', '--nostdin', 'hi'],
    /unknown option '--nostdin' \(Did you mean --no-stdin\?\)/,
  ],
  ['a value that is missing', ['generate', 'hi', '-m'], /'-m, --model <id>' argument missing/],
])('%s: exit 2, nothing sent, nothing on standard output', async (_, argv, message) => {
  const server = await localServer([])
  const { code, out, err } = await runMain(argv, { env: envFor(server.url), cwd: temporaryFolder() })
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(message)
  expect(server.requests).toEqual([])
})

test('a missing file: exit 10, nothing sent, nothing on standard output', async () => {
  const server = await localServer([])
  const argv = ['generate', '-a', 'nope', 'hi']
  const { code, out, err } = await runMain(argv, { env: envFor(server.url), cwd: temporaryFolder() })
  expect([code, out]).toEqual([10, ''])
  expect(err).toBe('modelgate: -a: "nope" cannot be read: it does not exist.\n')
})

test('with --json the refusal is one JSON object', async () => {
  const server = await localServer([])
  const argv = ['generate', '--json', '--temperature', '9', '--top-k', '0', 'hi']
  const { code, out, err } = await runMain(argv, { env: envFor(server.url) })
  expect([code, out]).toEqual([2, ''])
  expect(JSON.parse(err)).toMatchObject({
    error: {
      code: 'invalid_request',
      exit_code: 2,
      phase: 'input',
      billed: 'no',
      message: '--temperature must be from 0 to 2, not 9.\n--top-k must be at least 1, not 0.',
      hint: '--no-validate sends it anyway.',
    },
  })
})

test('an unreadable configuration sends nothing', async () => {
  const server = await localServer([])
  const cwd = temporaryFolder()
  writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'text_model: [a\n' })
  const { code, err } = await runMain(['generate', 'hi'], { env: envFor(server.url), cwd })
  expect(code).toBe(2)
  expect(err).toMatch(/\.modelgaterc\.yaml/)
})

test('--no-validate sends anyway', async () => {
  const server = await localServer([sse([`data: ${JSON.stringify(chunk)}\n\n`])])
  const argv = ['generate', '--temperature', '9', '--no-validate', 'hi']
  const { code, out } = await runMain(argv, { env: envFor(server.url) })
  expect([code, out]).toEqual([0, 'ok\n'])
  expect(JSON.parse(server.requests[0]!.body.toString())).toMatchObject({
    generationConfig: { temperature: 9 },
  })
})
