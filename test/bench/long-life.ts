import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startLoadSandbox, type LoadSandbox } from '../support/load-sandbox.ts'
import { mixedFaults } from '../program/mixed-calls.ts'
import { hasRedis, startRedis } from '../support/queue-servers.ts'
import { atMost, within, type Measurement } from './measurement.ts'
import { memory, processMb } from './memory.ts'
import { manifestOf } from './queue-throughput.ts'
import { run } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const calls = 10_000
const sandboxRequests = 100_000
const turns = 500

/** What a process takes more and more of, the longer it lives. */
export async function measureLongLife(workbench: Workbench): Promise<Measurement[]> {
  return [
    measureMillion(workbench, 'generate', 'bench-million'),
    measureMillion(workbench, 'respond', 'bench-million-response'),
    await measureCalls(workbench),
    await measureRun(workbench, 'run of 10,000 texts', 8),
    ...(await measureWorker(workbench)),
    await measureSandbox(),
    measureChat(workbench),
  ]
}

function measureMillion(workbench: Workbench, command: string, model: string): Measurement {
  const words = modelgate(command, '-m', model, 'Name rivers')
  return memory(workbench, `${command}, 1,000,000 events, most memory`, words, 130)
}

/**
 * How much more a process holds at the end than it did once all was loaded: the most in the last fifth of its life above the
 * most in the second.
 * @param readings at equal steps of its work
 */
function growth(name: string, readings: readonly number[]): Measurement {
  const fifth = Math.ceil(readings.length / 5)
  const warm = Math.max(...readings.slice(fifth, 2 * fifth))
  const end = Math.max(...readings.slice(-fifth))
  const grown = Math.max(0, end - warm)
  const measured = within(`growth of memory, ${name}`, [grown], 20)
  return { ...measured, figure: `${warm.toFixed(0)} to ${end.toFixed(0)} MB` }
}

async function measureCalls(workbench: Workbench): Promise<Measurement> {
  const sandbox = await startLoadSandbox({ faults: mixedFaults })
  try {
    const place = mkdtempSync(join(workbench.folder, 'calls-'))
    const child = join(import.meta.dirname, 'long-life-child.ts')
    const words = [process.execPath, child, sandbox.url, place, String(calls)]
    const readings = JSON.parse(run(workbench, words, 'pipe').stdout) as number[]
    return growth('10,000 calls in one process', readings)
  } finally {
    sandbox.close()
  }
}

/** Looks at a process at every two-hundredth text, until all are made. */
async function readingsOf(sandbox: LoadSandbox, pid: number): Promise<number[]> {
  const step = calls / 50
  const readings: number[] = []
  while (readings.length < 49) {
    await setTimeout(20)
    const now = processMb(pid, 'VmRSS')
    if (now === 0) throw new Error('The process has ended too early.')
    const made = await sandbox.created()
    while (readings.length < 49 && made >= (readings.length + 1) * step) readings.push(now)
  }
  return readings
}

/** A run of so many texts, by itself or over a queue, of which then the worker is looked at. */
async function measureRun(
  { folder, env }: Workbench,
  name: string,
  concurrency: number,
  queue?: string,
): Promise<Measurement> {
  const place = mkdtempSync(join(folder, 'long-run-'))
  mkdirSync(join(place, 'store'))
  writeFileSync(join(place, 'modelgate.yaml'), manifestOf(calls, concurrency))
  const sandbox = await startLoadSandbox({})
  const own = { ...env, MODELGATE_BASE_URL: sandbox.url }
  const shared = queue === undefined ? [] : ['--queue', queue, '--store', join(place, 'store')]
  const children = [
    ...(queue === undefined ? [] : [['worker', '--lanes', `text=${concurrency}`]]),
    ['--yes'],
  ].map((more) => {
    const [program, ...words] = modelgate('run', ...more, '--quiet', ...shared)
    return spawn(program!, words, { cwd: place, env: own, stdio: 'ignore' })
  })
  const ends = children.map((child) => once(child, 'exit') as Promise<[number | null]>)
  try {
    const readings = await readingsOf(sandbox, children[0]!.pid!)
    const [code] = await ends.at(-1)!
    if (code !== 0) throw new Error(`The run ended with ${code}.`)
    return growth(name, readings)
  } finally {
    for (const child of children) child.kill()
    await Promise.all(ends)
    sandbox.close()
  }
}

async function measureWorker(workbench: Workbench): Promise<Measurement[]> {
  if (!hasRedis) {
    workbench.skipped.push(
      'The long life of a worker is not measured: this machine lacks the server of Redis.',
    )
    return []
  }
  const server = await startRedis()
  try {
    return [await measureRun(workbench, 'run worker, 10,000 texts, Redis', 16, server.url)]
  } finally {
    await server.remove()
  }
}

/** By turns: a text, a stream, a list of models, a small picture (all are kept), and a look-up of nothing at a long address. */
const asked: readonly (readonly [path: string, body?: string])[] = [
  ['/v1/responses', '{"input":"hi"}'],
  ['/v1beta/models/m:streamGenerateContent?alt=sse', '{"contents":[{"parts":[{"text":"hi"}]}]}'],
  ['/v1/models'],
  ['/v1/responses', '{"input":"hi","stream":true,"temperature":9}'],
  [`/v1/models/sandbox-text?${'x'.repeat(20_000)}`],
  ['/v1/images/generations', '{"model":"my-own","prompt":"a dot","size":"16x16"}'],
  ['/v1/nothing/at/all'],
  ['/v1/models/sandbox-text'],
]

async function measureSandbox(): Promise<Measurement> {
  const sandbox = await startLoadSandbox({})
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const ask = async (number: number) => {
    const [path, body] = asked[number % asked.length]!
    const method = body === undefined ? 'GET' : 'POST'
    const headers = { authorization: 'Bearer x', 'idempotency-key': `${number}` }
    const sent = request(`${sandbox.url}${path}`, { agent, method, headers })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
    if (response.statusCode >= 500) throw new Error(`${path} was answered with ${response.statusCode}.`)
    response.resume()
    await once(response, 'end')
  }
  try {
    const readings: number[] = []
    let made = 0
    for (let tenth = 1; tenth <= 10; tenth++) {
      const last = (sandboxRequests / 10) * tenth
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          while (made < last) await ask(made++)
        }),
      )
      readings.push(await sandbox.held())
    }
    return growth('sandbox, 100,000 requests', readings)
  } finally {
    agent.destroy()
    sandbox.close()
  }
}

/** The last fifty turns against fifty early ones. */
function measureChat(workbench: Workbench): Measurement {
  const words = [process.execPath, join(import.meta.dirname, 'long-chat-child.ts'), workbench.url]
  const times = JSON.parse(run(workbench, [...words, String(turns)], 'pipe').stdout) as number[]
  const runs = { ours: times.slice(-50), baseline: times.slice(30, 80) }
  const mean = (some: readonly number[]) => [some.reduce((sum, ms) => sum + ms, 0) / some.length]
  const means = { ours: mean(runs.ours), baseline: mean(runs.baseline) }
  // What is sent grows with the turns: by that much, and no more, may each take longer.
  return { ...atMost(`a turn of chat, the last of ${turns} / the 30th to 80th`, means, 9), runs }
}
