import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeClock } from '../../support/fake-clock.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { canaryKey } from '../../support/canary-key.ts'

async function workspace() {
  const { url } = await runningSandbox()
  const cwd = temporaryFolder()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
  return {
    cwd,
    run(...argv: string[]) {
      // Each call has an idempotency key of its own.
      return runMain(['respond', ...argv], { cwd, env, clock: fakeClock({ random: Math.random }) })
    },
  }
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
    expect(code).toBe(0)
    expect(files).toMatchObject([{ path: expect.any(String), mime_type: 'image/png' }])
    const [call] = response.output
    expect(readFileSync(join(cwd, files[0].path))).toEqual(Buffer.from(call.result, 'base64'))
    expect(citations).toMatchObject([{ url: 'https://example.com/sandbox/1' }])
  },
)
