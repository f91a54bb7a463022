import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startLoadSandbox } from '../support/load-sandbox.ts'
import type { QueueServer } from '../support/queue-servers.ts'
import { cpuSeconds, machineSeconds } from './cpu-time.ts'
import { processMb } from './memory.ts'
import { modelgate } from './workbench.ts'

export interface Throughput {
  /** Jobs in a second, once all workers are at work. */
  readonly perSecond: number
  /** Of all processors of the machine, whoever had them. */
  readonly machineBusy: number
  /** Milliseconds of a processor for each job, by the program that had it. */
  readonly cpuMs: Readonly<Record<'workers' | 'run' | 'server' | 'gateway', number>>
  /** The most memory at any time, in megabytes: of the largest worker, and of the run. */
  readonly peakMb: Readonly<Record<'worker' | 'run', number>>
}

export interface Work {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  readonly jobs: number
  /** How many, and how many requests each has under way at once. */
  readonly workers: number
  readonly places: number
  /** How long the gateway takes for a request. */
  readonly callMs: number
  /** Undefined for a run that makes all requests itself. */
  readonly server: QueueServer | undefined
}

/** Of all creations these are not counted, at the beginning and in the end: there not all workers are at work. */
const edge = 0.2

/** Has texts made, and measures in the middle of it. */
export async function throughputOf(work: Work): Promise<Throughput> {
  const { folder, jobs, workers, places, callMs, server } = work
  const faults = [{ id: 'slow', action: 'stall', at: 'before-headers', ms: callMs } as const]
  const sandbox = await startLoadSandbox({ faults: callMs === 0 ? [] : faults })
  const children: ChildProcess[] = []
  const env = { ...work.env, MODELGATE_BASE_URL: sandbox.url, MODELGATE_IDEMPOTENCY_HONOURED: 'true' }
  const start = (words: readonly string[], stdout: 'ignore' | 'pipe' = 'ignore') => {
    const [program, ...args] = modelgate(...words)
    const stdio: StdioOptions = ['ignore', stdout, 'ignore']
    const child = spawn(program!, args, { cwd: folder, env, stdio })
    children.push(child)
    return child
  }
  try {
    mkdirSync(join(folder, 'store'), { recursive: true })
    writeFileSync(join(folder, 'modelgate.yaml'), manifestOf(jobs, workers * places))
    const queue = server === undefined ? [] : ['--queue', server.url, '--store', join(folder, 'store')]
    const lanes = `text=${places},image=0,video=0`
    const count = server === undefined ? 0 : workers
    const crew = Array.from({ length: count }, () =>
      start(['run', 'worker', '--jsonl', ...queue, '--lanes', lanes], 'pipe'),
    )
    // The first event of a worker is that it takes requests now.
    await Promise.all(crew.map(({ stdout }) => once(stdout!, 'data')))
    const run = start(['run', '--yes', '--quiet', ...queue])
    const ended = once(run, 'exit')
    const look = async () => {
      const cpu = (processes: readonly { readonly pid?: number | undefined }[]) =>
        processes.reduce((sum, { pid }) => sum + cpuSeconds(pid!), 0)
      const made = await sandbox.created()
      // Of this process alone.
      const { user, system } = process.cpuUsage()
      const all = cpuSeconds(process.pid) - (user + system) / 1e6
      const own = { workers: cpu(crew), run: cpu([run]), gateway: cpuSeconds(sandbox.pid) }
      const known = own.workers + own.run + own.gateway
      return { made, at: performance.now(), machine: machineSeconds(), ...own, server: all - known }
    }
    type Look = Awaited<ReturnType<typeof look>>
    let [from, to]: (Look | undefined)[] = []
    const memory = { worker: 0, run: 0 }
    // The most of a process is known as long as it lives.
    const lookAtMemory = () => {
      memory.worker = Math.max(memory.worker, ...crew.map(({ pid }) => processMb(pid!, 'VmHWM')))
      memory.run = Math.max(memory.run, processMb(run.pid!, 'VmHWM'))
    }
    while ((run.exitCode ?? run.signalCode) === null) {
      await Promise.race([setTimeout(50), ended])
      lookAtMemory()
      if (to !== undefined) continue
      const made = await sandbox.created()
      if (from === undefined && made >= jobs * edge) from = await look()
      if (made >= jobs * (1 - edge)) to = await look()
    }
    lookAtMemory()
    const [code] = (await ended) as [number | null]
    if (code !== 0 || from === undefined || to === undefined) throw new Error(`The run ended with ${code}.`)
    const seconds = (to.at - from.at) / 1000
    const made = to.made - from.made
    const of = (name: keyof Throughput['cpuMs']) => ((to[name] - from[name]) * 1000) / made
    return {
      perSecond: made / seconds,
      machineBusy: (to.machine - from.machine) / seconds / cpus().length,
      cpuMs: { workers: of('workers'), run: of('run'), server: of('server'), gateway: of('gateway') },
      peakMb: memory,
    }
  } finally {
    for (const child of children) if (child.exitCode === null) child.kill('SIGTERM')
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
    sandbox.close()
  }
}

/** Texts for so many boats. */
export function manifestOf(jobs: number, concurrency: number): string {
  const rows = Array.from({ length: jobs }, (_, at) => `      - { id: n${at} }`)
  return `version: 1
lanes: { text: ${concurrency} }
jobs:
  names:
    each:
${rows.join('\n')}
    generate: { model: gemini-3-flash, prompt: "A name for boat \${id}" }
    out: names/\${id}.txt
`
}
