import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Random } from '../../../src/sandbox/seeded-random.ts'
import { codeCache, spawnProgram, type Spawned } from '../../black-box/spawn-program.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface FleetOptions {
  readonly workers: number
  readonly queue: string
  readonly store: string
  readonly env: Readonly<Record<string, string>>
  /** More words for each worker. */
  readonly words?: readonly string[]
  readonly random: Random
}

/** One place for a worker process: when it is killed, another one takes its place. */
interface Post {
  /** The home directory of a machine, which two of them share. */
  machine: string
  process: Spawned
}

/** Workers as processes of the built program. */
export function startFleet(options: FleetOptions) {
  const { workers, queue, store, env, words = [], random } = options
  const start = (machine: string, more: readonly string[] = []): Spawned =>
    spawnProgram(['run', 'worker', '--queue', queue, '--store', store, ...words, ...more], {
      cwd: machine,
      env: { ...codeCache, ...env, HOME: machine },
    })
  const posts: Post[] = []
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
        const { exit, stderr } = await start(machine, ['--until-empty']).ended
        expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
        expect(filesBelow(join(machine, '.local/state/modelgate/workers'))).toEqual([])
      }
    },
    get stderr(): string {
      return posts.map(({ process }) => process.stderr).join('\n')
    },
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}
