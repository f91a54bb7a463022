import { chmodSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json, readAll, reset } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { startProgram } from './start-program.ts'
import { textStyles } from './text-styles.ts'
import { canaryKey } from '../support/canary-key.ts'

const prices = `prices:
  writer: { input: 1, cached_input: 0.5, output: 10 }
  image-model-a: { image: { low: 0.01, high: 0.2 } }
  film: { second: 0.1 }
`

/** Nobody listens there. */
const nowhere = 'http://127.0.0.1:59999'

type Env = Record<string, string | undefined>

/** A machine with prices, and a gateway that it calls again and again. */
function machine(url: string, config = prices) {
  const home = temporaryFolder()
  writeFiles(home, { '.config/modelgate/config.yaml': config })
  const clock = fakeClock({ start: Date.now(), random: Math.random })
  const settings = (env: Env) => ({
    home,
    cwd: home,
    clock,
    env: { HOME: home, MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey(), ...env },
  })
  const call = (argv: readonly string[], env: Env = {}) => runMain([...argv], settings(env))
  /** The same for a call that waits. */
  const waitingCall = async (argv: readonly string[], env: Env = {}) => {
    const program = startProgram(argv, settings(env))
    const code = await program.passWaits()
    return { code, out: program.context.stdout.text, err: program.context.stderr.text }
  }
  const folder = join(home, '.local/state/modelgate/calls')
  return {
    home,
    waitingCall,
    clock,
    call,
    folder,
    /** The lines of the records that count something. */
    lines: (): Json[] =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.jsonl'))
        .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
        .filter((line) => line.includes('"count":'))
        .map((line) => JSON.parse(line) as Json),
  }
}

const creations = (sandbox: Sandbox) => sandbox.requests().filter(({ created }) => created).length

const image = (...more: string[]) => ['image', 'create', '-m', 'image-model-a', 'A boat', ...more]
const text = (...more: string[]) => ['respond', '-m', 'writer', 'Hi', ...more]
const video = (...more: string[]) => ['video', 'generate', '-m', 'film', '--no-wait', 'A boat', ...more]

describe('MODELGATE_MAX_CREATES', () => {
  test('counts items of every kind, over all commands, and nothing is sent above it', async () => {
    const sandbox = await runningSandbox()
    const { call } = machine(sandbox.url)
    const env = { MODELGATE_MAX_CREATES: '5' }
    expect((await call(image('-n', '2'), env)).code).toBe(0)
    expect((await call(text(), env)).code).toBe(0)
    expect((await call(video('--sample-count', '2'), env)).code).toBe(0)
    const { code, err } = await call(text(), env)
    expect(code).toBe(15)
    expect(err).toMatch(
      /^modelgate: MODELGATE_MAX_CREATES=5 is reached: 5 created since \d{4}-\d\d-\d\d 00:00, and this would be 1 text more\. Nothing was sent\.$/m,
    )
    expect(err).toMatch(
      /hint: Raise MODELGATE_MAX_CREATES, or count from a later time with MODELGATE_COUNT_SINCE; see what was created: modelgate usage --since \d{4}-\d\d-\d\dT\d\d:\d\d$/m,
    )
    expect(err).not.toContain('billed')
    expect(creations(sandbox)).toBe(3)
  })

  test('look-ups and waits count nothing, and a dry run sends nothing', async () => {
    const sandbox = await runningSandbox()
    const { call, lines } = machine(sandbox.url)
    const env = { MODELGATE_MAX_CREATES: '1' }
    expect((await call(video(), env)).code).toBe(0)
    expect((await call(['video', 'status', '--last'], env)).code).toBe(0)
    expect((await call(['jobs', '--refresh'], env)).code).toBe(0)
    expect((await call(text('--dry-run'), env)).code).toBe(0)
    expect((await call(['models'], env)).code).toBe(0)
    expect(lines().filter(({ count }) => count > 0)).toHaveLength(1)
  })

  test('a flag does not raise it; the lower of both holds', async () => {
    const sandbox = await runningSandbox()
    const { call } = machine(sandbox.url)
    const env = { MODELGATE_MAX_CREATES: '1' }
    expect((await call(image('-n', '2', '--max-creates', '9'), env)).err).toContain(
      'MODELGATE_MAX_CREATES=1 is reached',
    )
    const { code, err } = await call(image('-n', '2', '--max-creates', '1'), { MODELGATE_MAX_CREATES: '9' })
    expect([code, err]).toEqual([
      15,
      expect.stringContaining('--max-creates 1 is reached: this would create 2 images.'),
    ])
    expect(creations(sandbox)).toBe(0)
  })

  test('counts from local midnight, or since MODELGATE_COUNT_SINCE', async () => {
    const sandbox = await runningSandbox()
    const { call, clock } = machine(sandbox.url)
    const env = { MODELGATE_MAX_CREATES: '1' }
    expect((await call(text(), env)).code).toBe(0)
    await clock.advance(86_400_000)
    expect((await call(text(), { ...env, MODELGATE_COUNT_SINCE: '2d' })).code).toBe(15)
    expect((await call(text(), env)).code).toBe(0)
    expect((await call(text(), env)).code).toBe(15)
  })

  test('the sandbox of --sandbox counts nothing; a limit of the command itself holds there, too', async () => {
    const { waitingCall, call, lines } = machine(nowhere)
    expect((await waitingCall(text('--sandbox'), { MODELGATE_MAX_CREATES: '0' })).code).toBe(0)
    expect((await call(image('--sandbox', '-n', '2', '--max-creates', '1'))).code).toBe(15)
    expect(lines()).toEqual([])
  })

  test('a refused job leaves no record of itself', async () => {
    const sandbox = await runningSandbox()
    const { call, home } = machine(sandbox.url)
    expect((await call(video(), { MODELGATE_MAX_CREATES: '0' })).code).toBe(15)
    expect(
      (await call(['respond', '--background', '-m', 'writer', 'Hi'], { MODELGATE_MAX_CREATES: '0' })).code,
    ).toBe(15)
    const jobs = readdirSync(join(home, '.local/state/modelgate'))
    for (const name of jobs.filter((other) => other !== 'calls')) {
      expect(readdirSync(join(home, '.local/state/modelgate', name))).toEqual([])
    }
  })

  test.each<[string, Env, string]>([
    [
      'a word',
      { MODELGATE_MAX_CREATES: 'many' },
      'MODELGATE_MAX_CREATES must be a whole number from 0, not "many".',
    ],
    [
      'a fraction',
      { MODELGATE_MAX_CREATES: '1.5' },
      'MODELGATE_MAX_CREATES must be a whole number from 0, not "1.5".',
    ],
    ['no time', { MODELGATE_COUNT_SINCE: 'soon' }, 'MODELGATE_COUNT_SINCE must be a date or time'],
    [
      'a time to come',
      { MODELGATE_COUNT_SINCE: '2999-01-01' },
      'MODELGATE_COUNT_SINCE: 2999-01-01 is still to come.',
    ],
  ])('what cannot be understood is refused: %s', async (_, env, message) => {
    const { code, err } = await machine(nowhere).call(text(), env)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })

  test('a folder that cannot be read is no empty one', async () => {
    const { call, folder } = machine(nowhere)
    await call(text('--max-retries', '0'))
    chmodSync(folder, 0o300)
    const { code } = await call(text('--max-retries', '0'), { MODELGATE_MAX_CREATES: '5' })
    chmodSync(folder, 0o700)
    // Whoever may do everything reads it nevertheless, and finds no gateway.
    expect(process.getuid?.() === 0 ? 6 : 10).toBe(code)
  })
})

describe('a count is given back', () => {
  const { whole } = textStyles.respond
  const body = whole('Hello.')

  test.each<[string, Parameters<typeof localServer>[0], number, boolean]>([
    ['by what was rejected', [json({ error: { message: 'Bad.' } }, { status: 400 })], 4, true],
    ['not by a lost reply', [[readAll, reset]], 7, false],
    ['not by an answer', [json(body)], 0, false],
    [
      'not by words of the gateway alone',
      [json({ error: { message: 'It broke; you have not been charged.' } }, { status: 500 })],
      7,
      false,
    ],
  ])('%s', async (_, replies, exit, isBack) => {
    const server = await localServer(replies)
    const { call, lines } = machine(server.url)
    expect((await call(text('--no-stream', '--max-retries', '0'))).code).toBe(exit)
    expect(lines().some(({ count }) => count === -1)).toBe(isBack)
    const env = { MODELGATE_MAX_CREATES: '1', MODELGATE_BASE_URL: nowhere }
    expect((await call(text('--max-retries', '0'), env)).code).toBe(isBack ? 6 : 15)
  })
})

describe('--max-cost', () => {
  test('holds the estimate of a call and what was spent against the limit', async () => {
    const sandbox = await runningSandbox()
    const { call } = machine(sandbox.url)
    expect((await call(image('-n', '2', '--quality', 'high', '--max-cost', '0.5'))).code).toBe(0)
    const { code, err } = await call(image('--quality', 'high', '--max-cost', '0.5'))
    expect(code).toBe(15)
    expect(err).toMatch(
      /--max-cost 0\.5 USD is reached, by estimate: 0\.40 since .* 00:00, and about 0\.20 for this call\. Nothing was sent\.\n.*Raise --max-cost, or look at what was spent: modelgate usage --since /,
    )
    const third = await call(image('--quality', 'low', '--max-cost', '0.5'))
    expect(third).toMatchObject({ code: 0, err: expect.not.stringContaining('leaves out') })
    // 0.41 are spent; 8 s cost 0.80.
    expect((await call(video('--duration-seconds', '8', '--max-cost', '1.20'))).code).toBe(15)
    expect((await call(video('--duration-seconds', '8', '--max-cost', '1.21'))).code).toBe(0)
    expect(creations(sandbox)).toBe(3)
  })

  test('counts what an answer really used, once that is known', async () => {
    const usage = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 400 },
      output_tokens: 500,
      total_tokens: 1500,
    }
    const reply = { ...(textStyles.respond.whole('Hello.') as object), usage }
    const server = await localServer([json(reply)])
    const { call, lines } = machine(server.url)
    const { err, out } = await call(text('--no-stream', '--json', '--max-cost', '1'))
    // 600 × 1 + 400 × 0.5 + 500 × 10, in millionths.
    expect(JSON.parse(out).cost).toEqual({ amount: 0.0058, currency: 'USD', estimate: true, reason: null })
    expect(err).toContain('The estimate for --max-cost leaves out how many tokens will be generated')
    expect(lines().at(-1)).toMatchObject({ amount: '0.0058', currency: 'USD' })
    expect((await call(text('--max-cost', '0.0058'))).code).toBe(15)
  })

  test('is not held against costs of which some are not known, and that is told', async () => {
    const sandbox = await runningSandbox()
    const { call } = machine(sandbox.url)
    const unknown = await call(['respond', '-m', 'other', 'Hi', '--max-cost', '1'])
    expect([unknown.code, creations(sandbox)]).toEqual([2, 0])
    expect(unknown.err).toMatch(
      /no price for this call of other\.\n.*Set prices\.other in your configuration file/,
    )
    await call(['respond', '-m', 'other', 'Hi'])
    const { code, err } = await call(image('--quality', 'low', '--max-cost', '1'))
    expect([code, err]).toEqual([0, expect.stringMatching(/out 1 earlier call since .*: its cost is not/)])
  })

  test('cannot be checked where costs are in several currencies', async () => {
    const sandbox = await runningSandbox()
    const euros = 'profiles:\n  work: { prices: { currency: EUR, writer: { input: 1, output: 10 } } }\n'
    const { call } = machine(sandbox.url, `${prices}${euros}`)
    const work = text('--profile', 'work', '--max-retries', '0')
    // What was given back costs nothing.
    expect((await call(work, { MODELGATE_BASE_URL: nowhere })).code).toBe(6)
    expect((await call(image('--max-cost', '9'))).code).toBe(0)
    expect((await call(work)).code).toBe(0)
    const { code, err } = await call(image('--max-cost', '9'))
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/costs in EUR and USD\.\n.*count from a later time/),
    ])
    expect(creations(sandbox)).toBe(2)
  })

  test('must be an amount', async () => {
    const { code, err } = await machine(nowhere).call(text('--max-cost', '-1'))
    const message =
      '--max-cost must be an amount such as 2.50, not "-1"; its currency is that of your prices.'
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('the cost of a call', () => {
  const costOf = async (argv: readonly string[], config = prices) => {
    const sandbox = await runningSandbox()
    const { out } = await machine(sandbox.url, config).call([...argv, '--json'])
    return (JSON.parse(out) as Json).cost
  }

  test('is in the documents, by estimate', async () => {
    expect(await costOf(image('-n', '3', '--quality', 'low'))).toEqual({
      amount: 0.03,
      currency: 'USD',
      estimate: true,
      reason: null,
    })
    expect(await costOf(video('--duration-seconds', '8', '--sample-count', '2'))).toMatchObject({
      amount: 1.6,
    })
    const answer = await costOf(text())
    expect(answer).toMatchObject({ currency: 'USD', estimate: true })
    expect(answer.amount).toBeGreaterThan(0)
  })

  test('is told beside the token counts', async () => {
    const sandbox = await runningSandbox()
    const { call } = machine(sandbox.url)
    expect((await call(text('--usage'))).err).toMatch(/^tokens: .* total · about 0\.\d+ USD$/m)
    expect((await call(['respond', '-m', 'other', 'Hi', '--usage'])).err).toMatch(
      / total · cost unknown \(no price for other\)$/m,
    )
    expect((await call(video('--usage', '--duration-seconds', '8'))).err).toMatch(/^about 0\.80 USD$/m)
    expect((await call(image('--usage', '--quality', 'high'))).err).toMatch(/ · about 0\.20 USD$/m)
  })
})
