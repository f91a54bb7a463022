import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { spawnProgram, type Ended, type Spawned } from '../black-box/spawn-program.ts'
import { runToPoint } from '../support/run-to-point.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

interface CrashOptions {
  readonly idempotencyHonoured?: boolean
  /** By default a new one. */
  readonly folder?: string
}

/** A project in a folder of its own, and the built program, which is run and killed in it. */
export function crashProject(
  { url }: Pick<Sandbox, 'url'>,
  files: Readonly<Record<string, string | Uint8Array>>,
  { idempotencyHonoured = true, folder = temporaryFolder() }: CrashOptions = {},
) {
  writeFiles(folder, files)
  const runs = join(folder, '.modelgate/runs')
  mkdirSync(runs, { recursive: true })
  const env = {
    MODELGATE_BASE_URL: url,
    MODELGATE_IDEMPOTENCY_HONOURED: String(idempotencyHonoured),
    MODELGATE_POLL_INTERVAL: '0.1',
  }
  const start = (words: readonly string[] = [], more: Readonly<Record<string, string>> = {}): Spawned =>
    spawnProgram(['run', ...words], { cwd: folder, env: { ...env, ...more } })
  const path = (name: string) => join(folder, name)
  /** The outputs that the lock has. */
  const locked = () => {
    const lock = JSON.parse(readFileSync(path('modelgate.lock'), 'utf8')) as Record<
      string,
      { readonly outputs?: readonly { readonly path: string; readonly sha256: string }[] }
    >
    return Object.values(lock).flatMap(({ outputs = [] }) => outputs)
  }
  /** Names them, each with whether its bytes are those that the lock names. */
  const outputs = () => {
    const isLocked = (name: string, sha256: string) =>
      existsSync(path(name)) && hash('sha256', readFileSync(path(name))) === sha256
    return Object.fromEntries(locked().map((output) => [output.path, isLocked(output.path, output.sha256)]))
  }
  /** What killed processes have left that nobody needs. */
  const leftovers = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter((name) => /\.mgpart$|\.owner$|^\.modelgate\/(?:work|jobs)\/./.test(name))
  return {
    locked,
    outputs,
    leftovers,
    /** How a call ended, and what is there; `stderr` only of one that failed. */
    accountOf: ({ exit, stderr }: Pick<Ended, 'exit' | 'stderr'>) => ({
      exit,
      stderr: exit === 0 ? '' : stderr,
      outputs: outputs(),
      left: leftovers(),
    }),
    folder,
    runs,
    start,
    path,
    exists: (name: string) => existsSync(path(name)),
    write: (more: Readonly<Record<string, string | Uint8Array>>) => writeFiles(folder, more),
    /** Runs it to its end, as it is expected to end. */
    async finish(words: readonly string[] = ['--yes'], expected = 0): Promise<Ended> {
      const ended = await start(words).ended
      expect([ended.exit, ended.exit === expected ? '' : ended.stderr]).toEqual([expected, ''])
      return ended
    },
    /** Runs it until it is about to do something of the given number; 0 for a run to its end. */
    runTo: (point: number, words: readonly string[] = ['--yes']): Promise<readonly string[]> =>
      runToPoint((more) => start(words, more), point),
    /** How many events are on disk. */
    lines: () => journals(runs).join('').split('\n').length - 1,
    /** All events on disk of a type. */
    events: (type: string) =>
      journals(runs).flatMap((text) =>
        text
          .split('\n')
          .filter((line) => line.startsWith(`{"type":"${type}"`))
          .map((line) => JSON.parse(line) as { readonly instance: string; readonly key: string }),
      ),
  }
}

export type CrashProject = ReturnType<typeof crashProject>

const journals = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
