import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startLoadSandbox, type LoadSandbox } from '../pipeline/queue/load-sandbox.ts'
import { mixedFaults } from '../program/mixed-calls.ts'
import { hasRedis, startRedis } from '../support/queue-servers.ts'
import type { Measurement } from './measurement.ts'
import { memory, memoryWithin, residentMb } from './memory.ts'
import { manifestOf } from './queue-throughput.ts'
import { run } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const calls = 10_000
const sandboxRequests = 100_000
const maxGrowthMb = 20
const maxStreamMb = 130
const turns = 500
/** What is sent grows with the turns: by that much, and no more, may each take longer. */
const linearTurns = 9

/** What a process takes more and more of, the longer it lives. */
export async function measureLongLife(workbench: Workbench): Promise<Measurement[]> {
  return [
    ...measureMillions(workbench),
    await measureCalls(workbench),
    await measureRun(workbench),
    ...(await measureWorker(workbench)),
    await measureSandbox(),
    measureChat(workbench),
  ]
}

function measureMillions(workbench: Workbench): Measurement[] {
  return [
    memory(
      workbench,
      'generate, 1,000,000 events, most memory',
      modelgate('generate', '-m', 'bench-million', 'Name rivers'),
      maxStreamMb,
    ),
    memory(
      workbench,
      'respond, 1,000,000 events, most memory',
      modelgate('respond', '-m', 'bench-million-response', 'Name rivers'),
      maxStreamMb,
    ),
  ]
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
  const measured = memoryWithin(`growth of memory, ${name}`, [grown], maxGrowthMb)
  return { ...measured, figure: `${warm.toFixed(0)} to ${end.toFixed(0)} MB` }
}

async function measureCalls({ folder, env }: Workbench): Promise<Measurement> {
  const sandbox = await startLoadSandbox({ faults: mixedFaults })
  try {
    const place = join(folder, 'calls')
    mkdirSync(place)
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'long-life-child.ts'), sandbox.url, place, String(calls)],
      { env, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let printed = ''
    child.stdout.on('data', (text: Buffer) => (printed += text.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`The calls ended with ${code}.`)
    return growth('10,000 calls in one process', JSON.parse(printed) as number[])
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
    const now = residentMb(pid)
    if (now === 0) throw new Error('The process has ended too early.')
    const made = await sandbox.created()
    while (readings.length < 49 && made >= (readings.length + 1) * step) readings.push(now)
  }
  return readings
}

async function measureRun({ folder, env }: Workbench): Promise<Measurement> {
  const place = join(folder, 'long-run')
  mkdirSync(place)
  writeFileSync(join(place, 'modelgate.yaml'), manifestOf(calls, 8))
  const sandbox = await startLoadSandbox({})
  const [program, ...words] = modelgate('run', '--yes', '--quiet')
  const own = { ...env, MODELGATE_BASE_URL: sandbox.url }
  const child = spawn(program!, words, { cwd: place, env: own, stdio: 'ignore' })
  try {
    const ended = once(child, 'exit')
    const readings = await readingsOf(sandbox, child.pid!)
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`The run ended with ${code}.`)
    return growth('run of 10,000 texts', readings)
  } finally {
    child.kill()
    sandbox.close()
  }
}

async function measureWorker({ folder, env, skipped }: Workbench): Promise<Measurement[]> {
  if (!hasRedis) {
    skipped.push('The long life of a worker is not measured: this machine lacks the server of Redis.')
    return []
  }
  const place = join(folder, 'long-worker')
  mkdirSync(join(place, 'store'), { recursive: true })
  writeFileSync(join(place, 'modelgate.yaml'), manifestOf(calls, 16))
  const [sandbox, server] = await Promise.all([startLoadSandbox({}), startRedis()])
  const own = { ...env, MODELGATE_BASE_URL: sandbox.url }
  const queue = ['--quiet', '--queue', server.url, '--store', join(place, 'store')]
  const start = (...more: string[]) => {
    const [program, ...words] = modelgate('run', ...more, ...queue)
    return spawn(program!, words, { cwd: place, env: own, stdio: 'ignore' })
  }
  const worker = start('worker', '--lanes', 'text=16')
  const submitter = start('--yes')
  const [gone, ended] = [once(worker, 'exit'), once(submitter, 'exit')]
  try {
    const readings = await readingsOf(sandbox, worker.pid!)
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`The run ended with ${code}.`)
    return [growth('run worker, 10,000 texts, Redis', readings)]
  } finally {
    for (const child of [worker, submitter]) child.kill()
    await gone
    sandbox.close()
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

/** The last hundred turns against the second hundred. */
function measureChat(workbench: Workbench): Measurement {
  const words = [process.execPath, join(import.meta.dirname, 'long-chat-child.ts'), workbench.url]
  const times = JSON.parse(run(workbench, [...words, String(turns)], 'pipe').stdout) as number[]
  const mean = (some: readonly number[]) => some.reduce((sum, ms) => sum + ms, 0) / some.length
  const [ours, baseline] = [mean(times.slice(-50)), mean(times.slice(30, 80))]
  return {
    name: `a turn of chat, the last of ${turns} / the 30th to 80th`,
    unit: 'ms',
    ours,
    baseline,
    figure: `${(ours / baseline).toFixed(2)} x`,
    bar: `<= ${linearTurns} x`,
    isMet: ours <= linearTurns * baseline,
    runs: { ours: times.slice(-50), baseline: times.slice(30, 80) },
  }
}
