import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import type { SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'
import { codeCache, spawnProgram, type Spawned } from '../../black-box/spawn-program.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../../support/canary-key.ts'
import { forTest, type QueueServer } from '../../support/queue-servers.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { crashProject, type CrashProject } from '../crash-project.ts'
import { loadFiles, type LoadOptions } from './load-project.ts'
import { startLoadSandbox, type LoadSandbox } from '../../support/load-sandbox.ts'

interface SceneOptions extends LoadOptions {
  readonly start: () => Promise<QueueServer>
  readonly sandbox: Partial<Omit<SandboxOptions, 'clock'>>
  readonly workers: number
  /** More words for the workers. */
  readonly words?: readonly string[]
}

/** A project, a queue, its workers and a gateway: all as processes of their own. */
export async function loadScene(options: SceneOptions) {
  const { start, jobs, workers, words: ownWords = [] } = options
  const sandbox = await sandboxForTest({ keptAnswers: jobs * 2, ...options.sandbox })
  const server = await forTest(start())
  const store = temporaryFolder()
  const project = crashProject(sandbox, loadFiles(options))
  const key = canaryKey()
  const places = ['--queue', server.url, '--store', store]
  const env = {
    ...codeCache,
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_IDEMPOTENCY_HONOURED: 'true',
    MODELGATE_API_KEY: key,
  }
  const fleet = startFleet(workers, (machine, ...more) => {
    const words = ['run', 'worker', ...places, ...ownWords, ...more]
    return spawnProgram(words, { cwd: machine, env: { ...env, HOME: machine } })
  })
  return { ...options, sandbox, server, store, project, key, fleet, words: ['--yes', ...places] }
}

type LoadScene = Awaited<ReturnType<typeof loadScene>>

async function sandboxForTest(options: SceneOptions['sandbox']): Promise<LoadSandbox> {
  const sandbox = await startLoadSandbox(options)
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** Workers as processes of the built program. @param start starts one on the machine with a home directory */
function startFleet(workers: number, start: (machine: string, ...more: string[]) => Spawned) {
  const random = seededRandom(20_261_122)
  /** When a process is killed, another one takes its place. Two of them share a machine. */
  const posts: { machine: string; process: Spawned }[] = []
  for (let at = 0; at < workers; at++) {
    const machine = at % 2 === 1 ? posts[at - 1]!.machine : temporaryFolder()
    posts.push({ machine, process: start(machine) })
  }
  let kills = 0
  return {
    /**
     * Ends one with SIGKILL and starts another in its place; every second time on another machine, because the first is lost
     * with all that it had.
     * @returns the process that was killed
     */
    async kill(): Promise<Spawned> {
      const post = posts[Math.floor(random() * posts.length)]!
      const { process } = post
      process.process.kill('SIGKILL')
      await process.ended
      if (kills++ % 2 === 1) post.machine = temporaryFolder()
      post.process = start(post.machine)
      return process
    },
    /** Ends all in good order, then has one worker a machine look at what is left. */
    async stop(): Promise<void> {
      for (const { process } of posts) process.process.kill('SIGTERM')
      for (const { process } of posts) {
        const { exit, stderr } = await process.ended
        // A second signal would end it by itself; this one, its own handler.
        expect([exit === 'SIGTERM' || exit === 143, stderr]).toEqual([true, expect.any(String)])
      }
      const machines = [...new Set(posts.map(({ machine }) => machine))]
      for (const machine of machines) {
        const { exit, stderr } = await start(machine, '--until-empty').ended
        expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
        expect(filesBelow(join(machine, '.local/state/modelgate/workers'))).toEqual([])
      }
    },
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}

/** Starts the run, kills it when so much has been created, and starts it again to its end. */
export async function runWithKill({ project, words, sandbox }: LoadScene, creations: number): Promise<void> {
  const first = project.start(words)
  let hasEnded = false
  void first.ended.then(() => (hasEnded = true))
  while (!hasEnded && (await sandbox.created()) < creations) await setTimeout(100)
  first.process.kill('SIGKILL')
  expect((await first.ended).exit).toBe('SIGKILL')
  await project.finish(words)
}

/**
 * Each result has been created once, and is there as a run without a queue makes it. Nothing is left of the work, and the key
 * is nowhere.
 * @param kills how many workers were killed: one that had told an outcome, and not yet ended its delivery, leaves the task
 * locked, and the server keeps that for a week
 */
export async function expectAllDone(scene: LoadScene, kills = 0): Promise<void> {
  const { project, sandbox, server, store, key, words, jobs } = scene
  const keys = (await sandbox.requests()).flatMap((one) => (one.created ? [one.idempotencyKey] : []))
  expect([keys.length, new Set(keys).size]).toEqual([jobs, jobs])
  const outputs = Object.values(project.outputs())
  expect([outputs.length, outputs.filter(Boolean).length, project.leftovers()]).toEqual([jobs, jobs, []])
  await project.finish(['--check'])
  await project.finish(words)
  expect(await sandbox.created()).toBe(jobs)
  expect(digestsOf(project)).toEqual(await localDigests(jobs))

  const text = await (server.url.startsWith('redis') ? redisContents : postgresContents)(server.url)
  expect(new Set(text.match(/\btask-[0-9a-f]{32}\b/g)).size).toBeLessThanOrEqual(kills)
  expectNoKey('the server', text, key)
  expectNoKeyBelow(store, key)
}

/** In a video is the time when it was made. */
const digestsOf = (project: CrashProject) =>
  Object.fromEntries(
    project.locked().map(({ path, sha256 }) => [path, path.endsWith('.mp4') ? '' : sha256] as const),
  )

/** What a run without a queue makes of the same manifest, at a sandbox of the same seed. */
async function localDigests(jobs: number): Promise<Record<string, string>> {
  const project = crashProject(await sandboxForTest({}), loadFiles({ jobs }))
  await project.finish()
  return digestsOf(project)
}

/** All that the server holds, as text. */
async function postgresContents(url: string): Promise<string> {
  const client = new Client(url)
  await client.connect()
  try {
    const rows = async (text: string) => (await client.query(text)).rows as Record<string, string>[]
    const tables = await rows(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
        WHERE schemaname LIKE 'modelgate%' AND tablename NOT LIKE '%event%'`,
    )
    const texts: string[] = []
    for (const { name } of tables) {
      texts.push(...(await rows(`SELECT t::text AS text FROM ${name} AS t`)).map(({ text }) => text!))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

async function redisContents(url: string): Promise<string> {
  const client = new Redis(url)
  const texts: string[] = []
  try {
    for (const key of await client.keys('*')) {
      if (key.endsWith(':events')) continue
      texts.push(`${key} ${(await client.dumpBuffer(key))?.toString('latin1')}`)
    }
    return texts.join('\n')
  } finally {
    client.disconnect()
  }
}
