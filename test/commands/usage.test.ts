import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CallBook } from '../../src/files/calls/call-book.ts'
import { sealedLine } from '../../src/files/sealed-lines.ts'
import type { UsageDocument } from '../../src/events/call.ts'
import { recordCall, type RecordedCall } from '../support/call-records.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const now = Date.UTC(2026, 10, 22, 12)

const prices = `prices:
  writer: { input: 1, cached_input: 0.5, output: 10 }
  painter: { image: { 1024x1024: { low: 0.01, high: 0.2 }, default: 0.05 } }
  film: { second: { 720p: 0.1, 1080p: 0.3 } }
`

const entry = (command: string, model: string | undefined, more: RecordedCall = {}): RecordedCall => ({
  time: '2026-11-22T09:00:00.000Z',
  command,
  cwd: '/home/a "b" {c}',
  ...(model !== undefined && { model }),
  ...more,
  arguments: ['generate', '"model":"other"'],
  request: { input: '"usage":{"input_tokens":9}', error: { billed: 'maybe' } },
})

const tokens = (input_tokens: number, output_tokens: number, cached_tokens = 0) => {
  const total_tokens = input_tokens + output_tokens
  return { usage: { input_tokens, cached_tokens, output_tokens, reasoning_tokens: null, total_tokens } }
}

const failure = (billed: 'no' | 'maybe' | 'yes') => ({
  exit_code: 7,
  error: { code: 'connection_lost', message: 'The "reply": {was} lost.', billed },
})

/** One of each kind. */
const calls = [
  entry('generate', 'writer', tokens(1_000_000, 100_000, 400_000)),
  entry('respond', 'writer-2026-01-02', tokens(1_000, 1_000)),
  entry('respond', 'writer', failure('no')),
  entry('respond', 'writer', failure('maybe')),
  entry('chat', 'other "x" \\ é', tokens(5, 5)),
  entry('generate', undefined, tokens(1, 1)),
  entry('image create', 'painter', { created: { images: { count: 2, size: '1024x1024', quality: 'high' } } }),
  entry('image edit', 'painter', {
    created: { images: { count: 1 } },
    files: [{ path: '/a.png', bytes: 1, sha256: 'ab', format: 'png', width: 512, height: 512 }],
  }),
  entry('video generate', 'film', { created: { job: 'op_{1}', video_seconds: 8, video_size: '720p' } }),
  entry('video remix', 'film', { created: { job: 'video_1' } }),
  entry('wait', 'film', { jobs: ['op_{1}'] }),
  entry('respond', 'writer', { created: { job: 'resp_1' }, time: '2026-11-21T12:00:00.000Z' }),
  entry('wait', undefined, { jobs: ['resp_1'], ...tokens(1_000_000, 0) }),
  entry('wait', undefined, { jobs: ['resp_1'], ...tokens(1_000_000, 0) }),
  entry('respond', 'writer', { sandbox: true, ...tokens(1_000_000, 0) }),
]

async function machine(log: readonly RecordedCall[] = calls, config = prices) {
  const home = temporaryFolder()
  const state = join(home, 'state')
  writeFiles(home, { '.config/modelgate/config.yaml': config })
  for (const one of log) await recordCall(state, one, now)
  const env = { HOME: home, MODELGATE_STATE_DIR: state }
  const run = (argv: readonly string[], screen: { terminal?: boolean; columns?: number } = {}) =>
    runMain(['usage', ...argv], { home, cwd: home, env, clock: fakeClock({ start: now }), ...screen })
  return { state, run }
}

const documentOf = async (argv: readonly string[], log = calls, config = prices) =>
  JSON.parse((await (await machine(log, config)).run([...argv, '--json'])).out) as UsageDocument

test('adds up what was created, whatever the log keeps of it', async () => {
  const { total, sandbox_calls: sandbox } = await documentOf([])
  expect([total, sandbox]).toEqual([
    {
      calls: 11,
      failed: 2,
      maybe_billed: 1,
      images: 3,
      video_seconds: 8,
      input_tokens: 2_001_006,
      cached_tokens: 400_000,
      output_tokens: 101_006,
      // 600,000 × 1 + 400,000 × 0.5 + 100,000 × 10, 1,000 × 11, 1,000,000 × 1; 2 × 0.2 + 0.05; 8 × 0.1
      costs: [{ currency: 'USD', amount: 4.061 }],
      unknown_costs: 4,
      unknown_reasons: [
        'the outcome is unknown',
        'no price for other "x" \\ é',
        'no price for the model that the gateway chooses',
        'how long the video plays is not known',
      ],
    },
    1,
  ])
})

test('what thousands of calls came to is kept: later ones are added, and forgotten ones are not counted', async () => {
  const { state, run } = await machine()
  const log = join(state, 'calls/2026-11.jsonl')
  const one = /^.*"type":"end".*$/m.exec(readFileSync(log, 'utf8'))![0]
  const { check: _, ...fields } = JSON.parse(one) as Record<string, unknown>
  const many = Array.from({ length: 2_500 }, (_, at) =>
    sealedLine(JSON.stringify({ ...fields, id: at.toString(16).padStart(16, '0') })),
  )
  appendFileSync(log, many.join(''))
  const report = async (...words: string[]) => (await run([...words, '--json'])).out
  const [model, day] = [await report(), await report('--by', 'day', '--since', '2026-01-01')]
  expect(existsSync(join(state, 'calls/sums.json'))).toBe(true)
  expect(JSON.parse(model)).toMatchObject({ total: { calls: 2_511 } })
  expect(await report()).toBe(model)
  // `since` reads every line.
  const kept = JSON.parse(await report('--by', 'day')) as object
  expect(kept).toEqual({ ...(JSON.parse(day) as object), since: null })
  const file = { path: '/a.mp4', bytes: 1, sha256: 'ab', format: 'mp4', seconds: 8 }
  // A job that was open is closed by a later wait, as without.
  await recordCall(state, entry('wait', 'film', { jobs: ['video_1'], files: [file] }), now)
  expect(JSON.parse(await report())).toMatchObject({ total: { calls: 2_511, video_seconds: 16 } })
  await runMain(['log', 'clear', '--force'], { env: { MODELGATE_STATE_DIR: state } })
  expect(JSON.parse(await report())).toMatchObject({ total: { calls: 0 } })
})

test('by model, command or day', async () => {
  const keys = async (by: string) => {
    const { rows } = await documentOf(['--by', by])
    return rows.map(({ key, calls: count, costs }) => [key, count, costs[0]?.amount])
  }
  expect(await keys('model')).toEqual([
    ['writer', 4, 2.8],
    ['film', 2, 0.8],
    ['painter', 2, 0.45],
    ['writer-2026-01-02', 1, 0.011],
    ['other "x" \\ é', 1, undefined],
    [null, 1, undefined],
  ])
  expect((await keys('command')).slice(0, 3)).toEqual([
    ['generate', 2, 1.8],
    ['respond', 4, 1.011],
    ['video generate', 1, 0.8],
  ])
  expect(await keys('day')).toEqual([
    ['2026-11-21', 1, 1],
    ['2026-11-22', 10, 3.061],
  ])
})

test.each([
  ['24h', '2026-11-21T12:00:00.000Z', 11],
  ['23h', '2026-11-21T13:00:00.000Z', 10],
  ['1m', '2026-11-22T11:59:00.000Z', 0],
])('--since %s begins at %s', async (since, from, count) => {
  expect(await documentOf(['--since', since])).toMatchObject({ since: from, total: { calls: count } })
})

test('costs in several currencies are not added', async () => {
  const config = `${prices}profiles:\n  work:\n    prices: { currency: EUR, film: { second: 1 } }\n`
  const costs = [
    { currency: 'USD', amount: 3.261 },
    { currency: 'EUR', amount: 8 },
  ]
  expect(await documentOf(['--profile', 'work'], calls, config)).toMatchObject({ total: { costs } })
})

test('damaged lines are told; a call that was killed may have been billed', async () => {
  const { run, state } = await machine([calls[0]!])
  const path = join(state, 'calls/2026-11.jsonl')
  const line = readFileSync(path, 'utf8')
  appendFileSync(path, `${line.replace('"writer"', '"WRITER"')}\n\nnot JSON\n${line.slice(0, 120)}`)
  const book = new CallBook(state, fakeClock({ start: now }))
  await book.open()
  book.begin({ count: 1, amount: null, currency: null, command: 'generate', cwd: '/', model: 'writer' })
  expect(JSON.parse((await run(['--json'])).out)).toMatchObject({
    total: { calls: 2, output_tokens: 100_000, maybe_billed: 1 },
    warnings: ['2 lines of the log are damaged, and left out.'],
  })
})

test('a script gets every field, and no heading', async () => {
  expect(await (await machine()).run(['--by', 'day'])).toMatchObject({
    code: 0,
    out:
      '2026-11-21\t1\t0\t0\t0\t0\t1000000\t0\t0\t1 USD\t0\n' +
      '2026-11-22\t10\t2\t1\t3\t8\t1001006\t400000\t101006\t3.061 USD\t4\n',
    err:
      '1 call may have been billed: the outcome is unknown.\n' +
      'The cost of 4 calls is unknown: no price for other "x" \\ é, the model that the gateway chooses; the outcome is unknown; how long the video plays is not known.\n' +
      'Left out: 1 call of the sandbox, which costs nothing.\n',
  })
})

test('a wide terminal gets every column that has something in it', async () => {
  const { run } = await machine()
  const { out } = await run([], { terminal: true, columns: 110 })
  expect(out).toMatchInlineSnapshot(`
    "MODEL                 CALLS  FAILED  UNCLEAR  IMAGES  SECONDS         IN   CACHED      OUT      ESTIMATE
    writer                    4       2        1                   2,000,000  400,000  100,000  2.80 USD + ?
    film                      2                                 8                               0.80 USD + ?
    painter                   2                        3                                            0.45 USD
    writer-2026-01-02         1                                        1,000             1,000     0.011 USD
    other "x" \\ é             1                                            5                 5       unknown
    the gateway's choice      1                                            1                 1       unknown
    total                    11       2        1       3        8  2,001,006  400,000  101,006  4.06 USD + ?
    "
  `)
})

test('without prices it counts, and says so', async () => {
  const { run } = await machine([calls[0]!], '')
  const { out, err } = await run([], { terminal: true, columns: 80 })
  expect(out).not.toContain('ESTIMATE')
  expect(err).toContain('Costs are not known: the configuration has no prices (modelgate help money).')
})

test('an empty log is told as such', async () => {
  const { run } = await machine([])
  expect(await run([])).toMatchObject({ code: 0, out: '', err: 'No calls are in the log.\n' })
  expect(await run(['--since', 'today', '--quiet'])).toMatchObject({ code: 0, out: '', err: '' })
})

test('a video has the seconds of the file that a later wait has saved, once', async () => {
  const file = { path: '/a.mp4', bytes: 1, sha256: 'ab', format: 'mp4', width: 1280, height: 720, seconds: 6 }
  const start = (job: string) => entry('video generate', 'film', { created: { job, video_size: '720p' } })
  const wait = entry('wait', 'film', { jobs: ['op_1'], files: [file] })
  const { total } = await documentOf([], [start('op_1'), start('op_2'), wait, wait])
  const costs = [{ currency: 'USD', amount: 0.6 }]
  expect(total).toMatchObject({ calls: 2, video_seconds: 6, costs, unknown_costs: 1 })
})

test.each([
  [['--by', 'week'], '--by must be one of model, command, day, not "week".'],
  [['--since', 'soon'], '--since must be a date or time'],
  [['--max-cost', '1'], "unknown option '--max-cost'"],
  [['--usage'], "unknown option '--usage'"],
])('%j is refused', async (argv, message) => {
  const { run } = await machine([])
  expect(await run(argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
})
