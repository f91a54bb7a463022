import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts'
import { spawnProgram, type Ended, type Spawned } from '../black-box/spawn-program.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const image = ['image', 'create', '-m', 'gpt-image-2', '-o', 'hero.png', 'A boat']
export const video = 'video generate -m veo-3.1 --wait --force -o boat.mp4 Boat'.split(' ')
export const generate = ['generate', '-m', 'sandbox-text']

/** Two images, and their files, each as the lock says. */
export const twoImages = {
  jobs: `jobs:
  a: { image create: { model: gpt-image-2, prompt: One }, out: a.png }
  b: { image create: { model: gpt-image-2, prompt: Two }, out: b.png }
`,
  outputs: { 'a.png': true, 'b.png': true },
}

/** The end of a program, which has to be this one. */
export async function endOf({ ended }: Pick<Spawned, 'ended'>, expected: Ended['exit'] = 0): Promise<Ended> {
  const end = await ended
  expect([end.exit, end.exit === expected ? '' : end.stderr]).toEqual([expected, ''])
  return end
}

export type Machine = Awaited<ReturnType<typeof crashMachine>>

interface MachineOptions {
  /** An earlier machine, whose files it begins with. */
  readonly like?: { readonly root: string }
  /** Where its folders are; by default a new folder. */
  readonly root?: string
  readonly sandbox?: Partial<SandboxOptions>
}

/** A machine of somebody who calls the program in its folder `cwd`, with a gateway of its own. */
export async function crashMachine({
  like,
  root = temporaryFolder(),
  sandbox: options,
}: MachineOptions = {}) {
  const sandbox = await runningSandbox(options)
  const [cwd, state, config] = [join(root, 'project'), join(root, 'state'), join(root, 'config')]
  if (like === undefined) mkdirSync(cwd, { recursive: true })
  else cpSync(like.root, root, { recursive: true, preserveTimestamps: true })
  const env = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_STATE_DIR: state,
    MODELGATE_CONFIG_DIR: config,
    MODELGATE_POLL_INTERVAL: '0.1',
  }
  const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    spawnProgram(words, { cwd, env: { ...env, ...more } })
  /** Runs it to its end, as it is expected to end. */
  const finish = (words: readonly string[], more?: Readonly<Record<string, string>>) =>
    endOf(start(words, more))
  /** The temporary files and locks below the root. */
  const leftovers = () => filesBelow(root).filter((name) => /\.(?:mgpart|lock)$/.test(name))
  return {
    root,
    cwd,
    state,
    sandbox,
    start,
    finish,
    /** The document that a call prints with `--json`. */
    document: async <Document>(...words: readonly string[]): Promise<Document> =>
      JSON.parse((await finish([...words, '--json'])).stdout.toString()) as Document,
    /** The files in the working directory, by their names, without temporary ones. */
    files(): ReadonlyMap<string, Buffer> {
      const names = readdirSync(cwd).filter((name) => !name.endsWith('.mgpart'))
      return new Map(names.map((name) => [name, readFileSync(join(cwd, name))]))
    },
    leftovers,
    /** Makes these so old that their writers must be dead. */
    ageLeftovers() {
      const time = Date.now() / 1000 - 25 * 3600
      for (const name of leftovers()) utimesSync(join(root, name), time, time)
    },
    /** What cannot be parsed of the records that the program keeps: jobs, log, ledger. */
    brokenRecords: () =>
      filesBelow(state)
        .filter((name) => /\.jsonl?$/.test(name))
        .flatMap((name) => {
          const text = readFileSync(join(state, name), 'utf8')
          const parts = name.endsWith('.jsonl')
            ? text.split('\n').filter((line) => line.trim() !== '')
            : [text]
          return parts.every(isJson) ? [] : [`${name}: ${text}`]
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
