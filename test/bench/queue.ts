import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { queueServers, type QueueServer } from '../support/queue-servers.ts'
import type { Measurement } from './measurement.ts'
import { memoryWithin } from './memory.ts'
import { atMost } from './ratio.ts'
import { throughputOf, type Throughput, type Work } from './queue-throughput.ts'
import type { Workbench } from './workbench.ts'

const callMs = 200
/** Few, so that eight workers leave something of a small machine. */
const places = 2
/** Of each worker: eight seconds of work. */
const jobsEach = 80
const linearBar = 0.85
/** So busy in the middle, a machine is full time and again. */
const fullBar = 0.9

const manyJobs = 10_000
const manyWorkers = 2
const processorBar = 6
const maxMb = { worker: 250, run: 400 } as const

/** `run --queue` and its workers: how they grow, and what they take. Without a server of a queue it is not measured. */
export async function measureQueue(workbench: Workbench): Promise<Measurement[]> {
  const all: Measurement[] = []
  for (const { name, isThere, start } of queueServers) {
    if (!isThere) {
      workbench.skipped.push(`A queue on ${name} is not measured: this machine lacks the server.`)
      continue
    }
    all.push(...(await measureGrowth(workbench, name, start)))
    all.push(...(await measureMany(workbench, name, start)))
  }
  return all
}

let count = 0

async function work(
  { folder, env }: Workbench,
  start: (() => Promise<QueueServer>) | undefined,
  facts: Pick<Work, 'jobs' | 'workers' | 'places' | 'callMs'>,
): Promise<Throughput> {
  const place = join(folder, `queue-${count++}`)
  mkdirSync(place)
  const server = await start?.()
  try {
    return await throughputOf({ ...facts, folder: place, env, server })
  } finally {
    await server?.remove()
  }
}

/** The same share of requests for each of 1, 2, 4 and 8 workers. */
async function measureGrowth(
  workbench: Workbench,
  name: string,
  start: () => Promise<QueueServer>,
): Promise<Measurement[]> {
  let one: Throughput | undefined
  const all: Measurement[] = []
  for (const workers of [1, 2, 4, 8]) {
    const found = await work(workbench, start, { jobs: jobsEach * workers, workers, places, callMs })
    one ??= found
    const share = found.perSecond / (one.perSecond * workers)
    if (workers === 1) continue
    const ours = 1000 / found.perSecond
    const baseline = 1000 / one.perSecond
    all.push({
      name: `a job by ${workers} workers / by one, ${name}`,
      unit: 'ms',
      ours,
      baseline,
      figure: `${percent(share)} of linear, machine ${percent(found.machineBusy)} busy`,
      bar: `>= ${percent(linearBar)} unless full`,
      isMet: share >= linearBar || found.machineBusy >= fullBar,
      runs: { ours: [ours], baseline: [baseline] },
    })
  }
  return all
}

/** As fast as it goes: what a job takes of the processors, and how much memory thousands of them take. */
async function measureMany(
  workbench: Workbench,
  name: string,
  start: () => Promise<QueueServer>,
): Promise<Measurement[]> {
  const facts = { jobs: manyJobs, workers: manyWorkers, places: 8, callMs: 0 }
  const { cpuMs, peakMb } = await work(workbench, start, facts)
  const alone = await work(workbench, undefined, { ...facts, jobs: manyJobs / 5 })
  const ours = cpuMs.workers + cpuMs.run + cpuMs.server
  const baseline = alone.cpuMs.run
  const parts = `${cpuMs.workers.toFixed(1)} workers, ${cpuMs.run.toFixed(1)} run, ${cpuMs.server.toFixed(1)} server`
  return [
    atMost(
      `processor a job, run --queue (${parts}) / run, ${name}`,
      { ours: [ours], baseline: [baseline] },
      processorBar,
    ),
    memoryWithin(`memory of a worker, 10,000 texts, ${name}`, [peakMb.worker], maxMb.worker),
    memoryWithin(`memory of run --queue, 10,000 texts, ${name}`, [peakMb.run], maxMb.run),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
