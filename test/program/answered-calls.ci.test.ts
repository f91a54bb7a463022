import { expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { canaryKey } from '../support/canary-key.ts'

const tools = ['--tool', '{"name":"get_weather"}', '--tool', '{"type":"custom","name":"note"}']
const question = 'Use get_weather and note'

async function place() {
  const { url } = await runningSandbox()
  return {
    env: { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() },
    // Each call has an idempotency key of its own.
    get clock() {
      return fakeClock({ random: Math.random })
    },
  }
}

/** The command that standard error says answers the reply, in words. */
const answerIn = (err: string) => /^answer with: modelgate (.*)$/m.exec(err)?.[1]?.split(' ')

test('the command that standard error shows answers the calls of tools', async () => {
  const overrides = await place()
  const { code, err } = await runMain(['respond', '-m', 'sandbox-text', ...tools, question], overrides)
  expect(code).toBe(0)
  const words = answerIn(err) ?? []
  expect(words.join(' ')).toMatch(
    /^respond -m sandbox-text --previous-response-id resp_\w+ --tool-output call_\w+=TEXT --custom-tool-output call_\w+=TEXT$/,
  )
  const answered = words.map((word) => word.replace('TEXT', '21 degrees'))
  const { out, ...rest } = await runMain(answered, overrides)
  expect(rest.code).toBe(0)
  expect(out).toContain('21 degrees')
})

test('the command that standard error shows approves the call of a remote tool', async () => {
  const overrides = await place()
  const { err } = await runMain(
    ['respond', '--tool', 'mcp:docs=https://a.test/mcp', 'sandbox:approval'],
    overrides,
  )
  const words = answerIn(err) ?? []
  expect(words.join(' ')).toMatch(/^respond --previous-response-id resp_\w+ --approve mcpr_\w+$/)
  const more = ['--tool', 'mcp:docs=https://a.test/mcp']
  expect(await runMain([...words, ...more], overrides)).toMatchObject({ code: 0 })
  const denied = words.map((word) => word.replace('--approve', '--deny'))
  expect(await runMain([...denied, ...more], overrides)).toMatchObject({ code: 0 })
})

test('with --sandbox the command works, too, though each has a sandbox of its own', async () => {
  const overrides = {
    env: { MODELGATE_STATE_DIR: temporaryFolder() },
    clock: { ...fakeClock(), ...systemClock },
  }
  const asked = await runMain(['respond', '--sandbox', ...tools, question], overrides)
  const words = answerIn(asked.err) ?? []
  expect(words.slice(0, 2)).toEqual(['respond', '--sandbox'])
  const answered = words.map((word) => word.replace('TEXT', '21 degrees'))
  const { code, out } = await runMain(answered, overrides)
  expect([code, out]).toEqual([0, expect.stringContaining('21 degrees')])
})

test.each([
  ['nothing is asked for', ['hi']],
  ['the gateway does not keep the response', ['--no-store', ...tools, question]],
  ['it shall be quiet', ['-q', ...tools, question]],
  ['the document says it all', ['--json', ...tools, question]],
])('no such command where %s', async (_, argv) => {
  const { code, err } = await runMain(['respond', ...argv], await place())
  expect(code).toBe(0)
  expect(err).not.toContain('answer with')
})
