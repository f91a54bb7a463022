import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { canaryKey } from '../../support/canary-key.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function workspace() {
  const { url } = await runningSandbox()
  const cwd = temporaryFolder()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey(), MODELGATE_STATE_DIR: cwd }
  // Each call has an idempotency key of its own.
  const clock = { ...fakeClock(), ...systemClock }
  return { cwd, run: (...argv: string[]) => runMain(['respond', ...argv], { cwd, env, clock }) }
}

test.for([
  [
    'web_search',
    ['web search tool call: Rivers', 'citation: Page 1 of the sandbox <https://example.com/sandbox/1>'],
  ],
  ['web_search:failed', ['web search tool call: Rivers (failed)']],
  ['file_search', ['file search tool call: Rivers', 'citation: sandbox-notes.md']],
  ['code_interpreter', ['code interpreter tool call: values = [3, 1, 4, 1, 5]', 'citation: result.csv']],
  ['image_generation', ['image generation call', /^saved .*\.png \(\d+ bytes\)$/m]],
  ['mcp', ['remote tool list: sandbox offers 2 tools', 'remote tool call: sandbox.search']],
  ['mcp:failed', ['remote tool call: sandbox.search (failed)']],
  ['mcp_list_tools:failed', ['remote tool list: sandbox: [sandbox] The server does not answer.']],
  ['approval', [/^remote tool approval request: sandbox\.search\(\{"query":"Rivers"\}\), id mcpr_\w+$/m]],
  ['computer', ['computer tool call: screenshot']],
  ['local_shell', ['local shell call: sh -c echo "hello from the sandbox"']],
  ['function', ['tool call: get_weather({"city":']],
  ['custom', ['tool call: take_note([sandbox] input of a custom tool)']],
] as const)('respond tells what came besides the text: %s', async ([scenario, lines]) => {
  const { run } = await workspace()
  const { code, err } = await run(`Rivers sandbox:${scenario}`)
  expect(code).toBe(0)
  for (const line of lines) expect(err).toMatch(line)
})

test.for([[[]], [['--no-stream']]])(
  'a picture in a reply is saved and in the document %j',
  async ([flags]) => {
    const { cwd, run } = await workspace()
    const { code, out } = await run('Rivers sandbox:image_generation sandbox:web_search', '--json', ...flags!)
    const { files, citations, response } = JSON.parse(out)
    expect([code, files, citations]).toMatchObject([
      0,
      [{ path: expect.any(String), mime_type: 'image/png' }],
      [{ url: 'https://example.com/sandbox/1' }],
    ])
    expect(readFileSync(join(cwd, files[0].path))).toEqual(Buffer.from(response.output[0].result, 'base64'))
  },
)

const tools = ['--tool', '{"name":"get_weather"}', '--tool', '{"type":"custom","name":"note"}']
const question = 'Use get_weather and note'

/** The command that standard error says answers the reply, in words. */
const answerIn = (err: string) => /^answer with: modelgate respond (.*)$/m.exec(err)?.[1]?.split(' ') ?? []

test.each([
  [['-m', 'sandbox-text'], /^-m sandbox-text --previous-response-id resp_\w+ /],
  // Each command has a sandbox of its own.
  [['--sandbox'], /^--sandbox --previous-response-id resp_\w+ /],
])('the command that standard error shows answers the calls of tools: %j', async (words, beginning) => {
  const { run } = await workspace()
  const answer = answerIn((await run(...words, ...tools, question)).err)
  expect(answer.join(' ')).toMatch(beginning)
  expect(answer.join(' ')).toMatch(/ --tool-output call_\w+=TEXT --custom-tool-output call_\w+=TEXT$/)
  const { code, out } = await run(...answer.map((word) => word.replace('TEXT', '21 degrees')))
  expect([code, out]).toEqual([0, expect.stringContaining('21 degrees')])
})

test('the command that standard error shows approves the call of a remote tool', async () => {
  const { run } = await workspace()
  const remote = ['--tool', 'mcp:docs=https://a.test/mcp']
  const answer = answerIn((await run(...remote, 'sandbox:approval')).err)
  expect(answer.join(' ')).toMatch(/^--previous-response-id resp_\w+ --approve mcpr_\w+$/)
  expect((await run(...answer, ...remote)).code).toBe(0)
  const denied = answer.map((word) => word.replace('--approve', '--deny'))
  expect((await run(...denied, ...remote)).code).toBe(0)
})

test.each([
  ['nothing is asked for', ['hi']],
  ['the gateway does not keep the response', ['--no-store', ...tools, question]],
  ['it shall be quiet', ['-q', ...tools, question]],
  ['the document says it all', ['--json', ...tools, question]],
])('no such command where %s', async (_, argv) => {
  const { code, err } = await (await workspace()).run(...argv)
  expect([code, err]).toEqual([0, expect.not.stringContaining('answer with')])
})
