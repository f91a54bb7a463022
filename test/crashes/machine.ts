import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect } from 'vitest'
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start-sandbox.ts'
import { spawnProgram, type Ended, type Spawned } from '../black-box/spawn-program.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A machine of somebody who calls the program, with a gateway of its own. */
export interface Machine {
  readonly root: string
  /** Where the program is called, below the root. */
  readonly cwd: string
  /** Its state folder, below the root. */
  readonly state: string
  readonly sandbox: Sandbox
  start(words: readonly string[], env?: Readonly<Record<string, string>>): Spawned
  /** Runs it to its end, as it is expected to end. */
  finish(words: readonly string[], expected?: number): Promise<Ended>
  /** The files in the working directory, by their names, without temporary ones. */
  files(): ReadonlyMap<string, Buffer>
  /** The temporary files and locks below the root. */
  leftovers(): readonly string[]
  /** Makes these so old that their writers must be dead. */
  ageLeftovers(): void
  /** What cannot be parsed of the records that the program keeps: jobs, log, ledger. */
  brokenRecords(): readonly string[]
}

export interface MachineOptions {
  /** An earlier machine, whose files it begins with. */
  readonly like?: Machine
  /** Where its folders are; by default a new folder. */
  readonly root?: string
  readonly sandbox?: Partial<SandboxOptions>
}

export async function crashMachine({
  like,
  root = temporaryFolder(),
  sandbox: options,
}: MachineOptions = {}): Promise<Machine> {
  const sandbox = await runningSandbox(options)
  const [cwd, state, config] = ['project', 'state', 'config'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  if (like === undefined) mkdirSync(cwd, { recursive: true })
  else cpSync(like.root, root, { recursive: true, preserveTimestamps: true })
  const env = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_STATE_DIR: state,
    MODELGATE_CONFIG_DIR: config,
    MODELGATE_POLL_INTERVAL: '0.1',
  }
  const start: Machine['start'] = (words, more) => spawnProgram(words, { cwd, env: { ...env, ...more } })
  const leftovers = () => filesBelow(root).filter((name) => /\.(?:mgpart|lock)$/.test(name))
  return {
    root,
    cwd,
    state,
    sandbox,
    start,
    async finish(words, expected = 0) {
      const ended = await start(words).ended
      expect([ended.exit, ended.exit === expected ? '' : ended.stderr]).toEqual([expected, ''])
      return ended
    },
    files: () =>
      new Map(
        readdirSync(cwd)
          .filter((name) => !name.endsWith('.mgpart'))
          .map((name) => [name, readFileSync(join(cwd, name))]),
      ),
    leftovers,
    ageLeftovers() {
      const time = Date.now() / 1000 - 25 * 3600
      for (const name of leftovers()) utimesSync(join(root, name), time, time)
    },
    brokenRecords: () =>
      filesBelow(state)
        .filter((name) => /\.jsonl?$/.test(name))
        .flatMap((name) => {
          const text = readFileSync(join(state, name), 'utf8')
          const parts = name.endsWith('.jsonl')
            ? text.split('\n').filter((line) => line.trim() !== '')
            : [text]
          return parts.some((part) => !isJson(part)) ? [`${name}: ${text}`] : []
        }),
  }
}

/** The files below a folder, by their paths in it; none where there is no folder. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
