/**
 * Measures what the server of a queue holds of each request, and how many connections its processes have:
 * `npm run build && node test/bench/queue-sizes.ts`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { startLoadSandbox } from '../pipeline/queue/load-sandbox.ts'
import { queueServers } from '../support/queue-servers.ts'
import { modelgate } from './workbench.ts'

const jobs = 2_000
/** The exit code of a run that has left its requests to the workers. */
const detached = 11

interface Facts {
  readonly bytes: number
  readonly connections: number
}

async function askRedis(url: string): Promise<Facts> {
  const client = new Redis(url)
  try {
    const info = await client.info('memory')
    const clients = ((await client.client('LIST')) as string).trim().split('\n')
    return { bytes: Number(/used_memory_dataset:(\d+)/.exec(info)![1]), connections: clients.length - 1 }
  } finally {
    client.disconnect()
  }
}

async function askPostgres(url: string): Promise<Facts> {
  const client = new Client(url)
  await client.connect()
  try {
    const number = async (text: string) =>
      Number((await client.query<{ number: string }>(text)).rows[0]!.number)
    const schemas = "n.nspname LIKE 'modelgate%' AND c.relkind = 'r'"
    return {
      // With indexes, and with what is only freed at the next vacuum.
      bytes: await number(
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS number FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${schemas}`,
      ),
      connections: await number(
        "SELECT count(*) AS number FROM pg_stat_activity WHERE application_name = 'modelgate'",
      ),
    }
  } finally {
    await client.end()
  }
}

const manifest = `version: 1
lanes: { text: 8 }
jobs:
  names:
    each:
${Array.from({ length: jobs }, (_, at) => `      - { id: n${at} }`).join('\n')}
    generate: { model: gemini-3-flash, prompt: "A name for boat \${id}" }
    out: names/\${id}.txt
`

const askers = { PostgreSQL: askPostgres, Redis: askRedis } as const

console.log(
  '| server | bytes a waiting request | bytes a finished one | connections of a worker | of a run |',
)
console.log('| --- | --- | --- | --- | --- |')
for (const { name, isThere, start: startServer } of queueServers) {
  if (!isThere) continue
  const ask = askers[name]
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-sizes-'))
  const server = await startServer()
  const sandbox = await startLoadSandbox({})
  const children: ChildProcess[] = []
  const start = (...words: string[]) => {
    const [program, ...args] = modelgate('run', ...words, '--quiet')
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      MODELGATE_BASE_URL: sandbox.url,
      MODELGATE_API_KEY: 'bench',
      MODELGATE_QUEUE: server.url,
      MODELGATE_STORE: folder,
    }
    const child = spawn(program!, args, { cwd: folder, env, stdio: 'ignore' })
    children.push(child)
    return child
  }
  /** What there is at most until a process ends, which it has to with this exit code. */
  const peakOf = async (child: ChildProcess, expected: number) => {
    let connections = 0
    while ((child.exitCode ?? child.signalCode) === null) {
      await setTimeout(100)
      connections = Math.max(connections, (await ask(server.url)).connections)
    }
    if (child.exitCode !== expected)
      throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode ?? child.signalCode}.`)
    return connections
  }
  try {
    // An empty queue is set up by its first worker.
    await peakOf(start('worker', '--until-empty'), 0)
    const empty = await ask(server.url)
    writeFileSync(join(folder, 'modelgate.yaml'), manifest)
    const ofRun = await peakOf(start('--yes', '--detach'), detached)
    const waiting = await ask(server.url)
    const ofWorker = await peakOf(start('worker', '--until-empty'), 0)
    const finished = await ask(server.url)
    const each = ({ bytes }: Facts) => Math.round((bytes - empty.bytes) / jobs)
    console.log(`| ${[name, each(waiting), each(finished), ofWorker, ofRun].join(' | ')} |`)
  } finally {
    for (const child of children) child.kill()
    sandbox.close()
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}
