import { readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { localServer, type LocalServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'
import type { Scenario } from './scenario.ts'
import { startProgram, type RunningProgram } from './start-program.ts'
import type { TextStyle } from './text-styles.ts'

interface ScenarioRun extends Omit<RunningProgram, 'exitCode'> {
  readonly exitCode: number
  readonly server: LocalServer
  /** Every wait that was no limit, in milliseconds. */
  readonly waits: readonly number[]
}

/** Runs the program in the scenario, and checks what holds for all of them: no trace of the key, and no file left behind. */
export async function runScenario(
  scenario: Scenario,
  style: TextStyle,
  argv: readonly string[],
): Promise<ScenarioRun> {
  const key = canaryKey()
  const server = await localServer(scenario.replies(style))
  const words = [style.name, '-m', 'some-model', '--base-url', server.url, ...wordsOf(scenario, style)]
  const run = startProgram([...words, ...argv], {
    env: { MODELGATE_API_KEY: key },
  })
  const passing = scenario.meanwhile === undefined ? (scenario.waits ?? []) : []
  for (const [index, wait] of passing.entries()) {
    await run.until(() => run.clock.waits.length > index)
    await run.clock.advance(wait)
  }
  await scenario.meanwhile?.(run, server, argv.length > 0)
  const exitCode = await run.exitCode
  expect(readdirSync(run.context.cwd), 'files in the working directory').toEqual([])
  expectNoKey('standard output', run.context.stdout.bytes, key)
  expectNoKey('standard error', run.context.stderr.bytes, key)
  expectNoKeyBelow(run.home, key)
  return { ...run, exitCode, server, waits: run.clock.waits }
}

/** Flags and, at the end, the prompt. */
function wordsOf({ argv }: Scenario, style: TextStyle): readonly string[] {
  return argv?.(style) ?? ['Say hello.']
}

/** The number of attempts is checked by the server itself. */
export function expectAttempts(server: LocalServer, scenario: Scenario, style: TextStyle): void {
  const replies = scenario.replies(style)
  const whole = server.requests.filter(({ complete }) => complete)
  expect(new Set(whole.map(({ line }) => line))).toEqual(
    new Set(whole.length === 0 ? [] : [style.requestLine]),
  )
  const bodies = new Set(whole.map(({ body }) => body.toString()))
  expect(bodies.size, 'different bodies').toBeLessThanOrEqual(1)
  const prompt = JSON.stringify(wordsOf(scenario, style).at(-1))
  expect(
    [...bodies].every((body) => body.includes(prompt)),
    'the prompt in the body',
  ).toBe(true)
  const keys = new Set(whole.map(({ headers }) => headers['idempotency-key']))
  expect(keys.size, 'different idempotency keys').toBeLessThanOrEqual(1)
  expect([...keys].every(Boolean), 'an idempotency key in every attempt').toBe(true)
  const accepted = server.requests.filter(({ complete }, index) => complete && mayAccept(replies[index]!))
  expect(accepted.length, 'creations').toBeLessThanOrEqual(1)
}

/** Whether a server that does this may have begun to work on the request: all but those that refuse it. */
function mayAccept(reply: ServerReply): boolean {
  const first = reply.find((step) => step.step === 'write')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(String(first?.bytes ?? ''))?.[1]
  return status === undefined || Number(status) < 400
}
