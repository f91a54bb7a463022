import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { queueServers } from '../support/queue-servers.ts'
import { atMost, within, type Measurement } from './measurement.ts'
import { throughputOf, type Throughput, type Work } from './queue-throughput.ts'
import type { Workbench } from './workbench.ts'

const linearBar = 0.85
/** So busy in the middle, a machine is full time and again. */
const fullBar = 0.9

type Measured = (facts: Pick<Work, 'jobs' | 'workers' | 'places' | 'callMs'>) => Promise<Throughput>

/** `run --queue` and its workers: how they grow, and what they take. Without a server of a queue it is not measured. */
export async function measureQueue({ folder, env, skipped }: Workbench): Promise<Measurement[]> {
  const all: Measurement[] = []
  const throughput = (start?: (typeof queueServers)[number]['start']): Measured => {
    return async (facts) => {
      const server = await start?.()
      try {
        return await throughputOf({ ...facts, folder: mkdtempSync(join(folder, 'queue-')), env, server })
      } finally {
        await server?.remove()
      }
    }
  }
  for (const { name, isThere, start } of queueServers) {
    if (isThere) {
      all.push(...(await measureGrowth(name, throughput(start))))
      all.push(...(await measureMany(name, throughput(start), throughput())))
    } else skipped.push(`A queue on ${name} is not measured: this machine lacks the server.`)
  }
  return all
}

/** The same share of requests for each of 1, 2, 4 and 8 workers: eight seconds of work for each. */
async function measureGrowth(name: string, work: Measured): Promise<Measurement[]> {
  // Few places, so that eight workers leave something of a small machine.
  const facts = { places: 2, callMs: 200 }
  const one = await work({ jobs: 80, workers: 1, ...facts })
  const all: Measurement[] = []
  for (const workers of [2, 4, 8]) {
    const { perSecond, machineBusy } = await work({ jobs: 80 * workers, workers, ...facts })
    const share = perSecond / (one.perSecond * workers)
    const [ours, baseline] = [1000 / perSecond, 1000 / one.perSecond]
    all.push({
      name: `a job by ${workers} workers / by one, ${name}`,
      unit: 'ms',
      ours,
      baseline,
      figure: `${percent(share)} of linear, machine ${percent(machineBusy)} busy`,
      bar: `>= ${percent(linearBar)} unless full`,
      isMet: share >= linearBar || machineBusy >= fullBar,
      runs: { ours: [ours], baseline: [baseline] },
    })
  }
  return all
}

/** As fast as it goes: what a job takes of the processors, and how much memory thousands of them take. */
async function measureMany(name: string, work: Measured, alone: Measured): Promise<Measurement[]> {
  const facts = { workers: 2, places: 8, callMs: 0 }
  const { cpuMs, peakMb } = await work({ jobs: 10_000, ...facts })
  const runs = {
    ours: [cpuMs.workers + cpuMs.run + cpuMs.server],
    baseline: [(await alone({ jobs: 2_000, ...facts })).cpuMs.run],
  }
  const parts = `${cpuMs.workers.toFixed(1)} workers, ${cpuMs.run.toFixed(1)} run, ${cpuMs.server.toFixed(1)} server`
  return [
    atMost(`processor a job, run --queue (${parts}) / run, ${name}`, runs, 6),
    within(`memory of a worker, 10,000 texts, ${name}`, [peakMb.worker], 250),
    within(`memory of run --queue, 10,000 texts, ${name}`, [peakMb.run], 400),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
