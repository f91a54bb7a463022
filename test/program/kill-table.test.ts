import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { localServer, type LocalServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'
import type { Kill } from './kill.ts'
import { brokenReplies } from './kills/broken-replies.ts'
import { failedGenerations } from './kills/failed-generations.ts'
import { localTrouble } from './kills/local-trouble.ts'
import { lostReplies } from './kills/lost-replies.ts'
import { notSent } from './kills/not-sent.ts'
import { refusals } from './kills/refusals.ts'
import { signals } from './kills/signals.ts'
import { successes } from './kills/successes.ts'
import { tryLater } from './kills/try-later.ts'
import { startProgram, type RunningProgram } from './start-program.ts'
import { textStyles, type TextStyle } from './text-styles.ts'

const kills: readonly Kill[] = [
  ...successes,
  ...notSent,
  ...refusals,
  ...tryLater,
  ...lostReplies,
  ...brokenReplies,
  ...failedGenerations,
  ...localTrouble,
  ...signals,
]

/** Times that are limits, not waits: connect, first byte, idle, progress, error body, grace; and two set by flags. */
const limits = new Set([10_000, 120_000, 600_000, 60_000, 300_000, 5_000, 1_000, 42_000, 10_000_000])

const cases = kills.flatMap((kill) =>
  Object.values(textStyles)
    .filter(({ name }) => kill.only === undefined || kill.only === name)
    .map((style) => [`${kill.exit} ${style.name}: ${kill.name}`, kill, style] as const),
)

test.each(cases)('%s', async (_, kill, style) => {
  const { context, exitCode, server, waits } = await play(kill, style, [])
  expect({ exitCode, stdout: context.stdout.text, waits }).toEqual({
    exitCode: kill.exit,
    stdout: kill.stdout ?? '',
    waits: kill.waits ?? [],
  })
  const problems = context.stderr.text.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(problems.length).toBe(kill.says === undefined ? 0 : 1)
  expect(problems.join('')).toMatch(kill.says ?? /^$/)
  expect(context.stderr.text).toContain(kill.adds ?? '')
  expectAttempts(server, kill, style)
})

test.each(cases.filter(([, { exit }]) => exit !== 0))('%s, as JSON', async (_, kill, style) => {
  const { context, exitCode, server } = await play(kill, style, ['--json'])
  expect({ exitCode, stdout: context.stdout.text }).toEqual({ exitCode: kill.exit, stdout: '' })
  const lines = context.stderr.text.trimEnd().split('\n')
  const documents = lines.filter((line) => line.startsWith('{'))
  expect(documents.length).toBe(1)
  const { error } = JSON.parse(documents[0]!) as { error: unknown }
  expect(error).toMatchObject({
    exit_code: kill.exit,
    message: expect.stringMatching(kill.says ?? ''),
    ...kill.error,
  })
  expectAttempts(server, kill, style)
})

interface Played extends Omit<RunningProgram, 'exitCode'> {
  readonly exitCode: number
  readonly server: LocalServer
  /** Every wait that was no limit, in milliseconds. */
  readonly waits: number[]
}

async function play(kill: Kill, style: TextStyle, argv: readonly string[]): Promise<Played> {
  const key = canaryKey()
  const server = await localServer(kill.replies(style))
  const baseUrl = (await kill.baseUrl?.(server)) ?? server.url
  const words = [style.name, '-m', 'some-model', '--base-url', baseUrl, ...wordsOf(kill, style)]
  const run = startProgram([...words, ...argv], {
    env: { MODELGATE_API_KEY: key, ...kill.env },
    files: kill.files,
  })
  const waits = () => run.clock.asked.filter((ms) => !limits.has(ms))
  const passing = kill.meanwhile === undefined ? (kill.waits ?? []) : []
  for (const [index, wait] of passing.entries()) {
    await run.until(() => waits().length > index)
    await run.clock.advance(wait)
  }
  await kill.meanwhile?.(run, server, argv.includes('--json'))
  const exitCode = await run.exitCode
  expectNoKey('standard output', run.context.stdout.bytes, key)
  expectNoKey('standard error', run.context.stderr.bytes, key)
  expectNoKeyBelow(run.home, key)
  return { ...run, exitCode, server, waits: waits() }
}

/** Flags and, at the end, the prompt. */
function wordsOf({ argv }: Kill, style: TextStyle): readonly string[] {
  return argv?.(style) ?? ['Say hello.']
}

/** The number of attempts is checked by the server itself. */
function expectAttempts(server: LocalServer, kill: Kill, style: TextStyle): void {
  const replies = kill.replies(style)
  const whole = server.requests.filter(({ complete }) => complete)
  expect(new Set(whole.map(({ line }) => line))).toEqual(
    new Set(whole.length === 0 ? [] : [style.requestLine]),
  )
  const bodies = new Set(whole.map(({ body }) => body.toString()))
  expect(bodies.size, 'different bodies').toBeLessThanOrEqual(1)
  const prompt = JSON.stringify(wordsOf(kill, style).at(-1))
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
