/**
 * Sizes a queue by simulation: `node test/simulation/queue.ts` prints the tables of docs/scaling.md; with options, one run of your own:
 * `node test/simulation/queue.ts --jobs 10000 --workers 20 --places 8 --call-s 8 --per-second 20 --rate 20 --life-s 600`.
 */
import { parseArgs } from 'node:util'
import { simulateQueue, type Figures, type Setting } from './simulate-queue.ts'

/** As measured (`node test/bench/document-stores.ts`, docs/scaling.md): PostgreSQL on a small machine, each transaction on its disk. */
const usual: Setting = {
  jobs: 10_000,
  workers: 8,
  places: 8,
  callMs: 8_000,
  atOnce: Infinity,
  perSecond: Infinity,
  rate: null,
  transactionMs: 1,
  taskMs: 0.35,
  contendedMs: 1.2,
  wayMs: 0.5,
  lifeMs: Infinity,
  seed: 1,
}

const percent = (share: number) => `${Math.round(share * 100)} %`
const perSecond = ({ jobs }: Setting, { seconds }: Figures) => (jobs / seconds).toPrecision(3)

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}

/** How many workers a queue carries, for requests of different lengths. */
function knee(): string {
  const calls = [200, 2_000, 8_000, 60_000]
  const rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000].map((workers) => {
    const cells = calls.map((callMs) => {
      const setting = { ...usual, workers, callMs, jobs: Math.max(1_000, workers * usual.places * 20) }
      const figures = simulateQueue(setting)
      return `${percent(figures.efficiency)} (${percent(figures.serverBusy)})`
    })
    return [workers, ...cells]
  })
  return table(['workers', ...calls.map((ms) => `${ms / 1000} s a request`)], rows)
}

/** The shapes that `node test/bench/document-stores.ts` measures. */
function stores(): string {
  const shapes = [
    [1, 1],
    [1, 16],
    [8, 1],
    [8, 16],
    [64, 1],
  ] as const
  const rows = shapes.map(([workers, places]) => {
    const setting = { ...usual, workers, places, callMs: 0 }
    return [`${workers}, ${places}`, Math.round(setting.jobs / simulateQueue(setting).seconds)]
  })
  return table(['workers, places of each', 'simulated'], rows)
}

function limits(): string {
  const gateways: readonly (readonly [string, Partial<Setting>])[] = [
    ['no limit', {}],
    ['200 at once', { atOnce: 200 }],
    ['20 a second', { perSecond: 20 }],
    ['20 a second, `--rate 20/s`', { perSecond: 20, rate: { requests: 20, perMs: 1_000 } }],
    ['1200 a minute, `--rate 1200/m`', { rate: { requests: 1_200, perMs: 60_000 } }],
  ]
  const rows = gateways.map(([name, gateway]) => {
    const setting = { ...usual, workers: 50, ...gateway }
    const figures = simulateQueue(setting)
    const { requests, refused, peakPerSecond, serverBusy } = figures
    return [name, perSecond(setting, figures), requests, refused, peakPerSecond, percent(serverBusy)]
  })
  return table(['the gateway takes', 'jobs/s', 'requests', '429', 'most in a second', 'server busy'], rows)
}

function deaths(): string {
  const rows = [Infinity, 3_600, 600, 120, 60].map((lifeS) => {
    const setting = { ...usual, workers: 20, lifeMs: lifeS * 1_000 }
    const { seconds, deaths: count, lost, requests } = simulateQueue(setting)
    const life = lifeS === Infinity ? 'for ever' : `${lifeS} s`
    return [life, count, lost, requests - setting.jobs, seconds.toFixed(0)]
  })
  return table(['a worker lives', 'deaths', 'requests cut', 'sent again', 'seconds'], rows)
}

const number = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    jobs: number,
    workers: number,
    places: number,
    'call-s': number,
    'at-once': number,
    'per-second': number,
    rate: number,
    'transaction-ms': number,
    'task-ms': number,
    'life-s': number,
  },
})

if (Object.keys(values).length === 0) {
  console.log(`Requests a second that take no time:\n\n${stores()}\n`)
  console.log(`Efficiency, and how busy the queue's server is:\n\n${knee()}\n`)
  console.log(`10,000 jobs, 50 workers with 8 places, 8 s a request:\n\n${limits()}\n`)
  console.log(`10,000 jobs, 20 workers with 8 places, 8 s a request:\n\n${deaths()}`)
} else {
  const of = (value: string | undefined, otherwise: number, factor = 1) =>
    value === undefined ? otherwise : Number(value) * factor
  console.log(
    simulateQueue({
      ...usual,
      jobs: of(values.jobs, usual.jobs),
      workers: of(values.workers, usual.workers),
      places: of(values.places, usual.places),
      callMs: of(values['call-s'], usual.callMs, 1_000),
      atOnce: of(values['at-once'], usual.atOnce),
      perSecond: of(values['per-second'], usual.perSecond),
      rate: values.rate === undefined ? null : { requests: Number(values.rate), perMs: 1_000 },
      transactionMs: of(values['transaction-ms'], usual.transactionMs),
      taskMs: of(values['task-ms'], usual.taskMs),
      lifeMs: of(values['life-s'], usual.lifeMs, 1_000),
    }),
  )
}
