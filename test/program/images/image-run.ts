import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { decodeImage, type Pixels } from '../../../src/files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../../src/files/image-info.ts'
import type { Sandbox } from '../../../src/sandbox/start-sandbox.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../../support/canary-key.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { runMain, type RunResult } from '../../support/run-main.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'
import { answeredBy } from '../answered.ts'
import { startProgram } from '../start-program.ts'

/** A folder for one test, and the program run in it. */
export interface Workspace {
  readonly cwd: string
  /**
   * Runs `image` with these words against the gateway of the workspace, and checks what holds for all runs: no trace of
   * the key, and no temporary file left.
   */
  run(words: readonly string[], more?: TestOverrides): Promise<RunResult>
  /** The same, while every wait before a further attempt passes at once; in the result, in milliseconds. */
  runThroughWaits(
    words: readonly string[],
  ): Promise<Omit<RunResult, 'bytes'> & { readonly waits: readonly number[] }>
  /** Names of all files, hidden ones too, in order. */
  files(): readonly string[]
  read(name: string): Buffer
  /** What the file's own header says. */
  info(name: string): ImageInfo | undefined
  pixels(name: string): Promise<Pixels>
  /** What is in the rescue folder, by name without the time. */
  rescued(): ReadonlyMap<string, Buffer>
}

/** @param gateway a sandbox or a local server */
export function workspaceAt(gateway: Pick<Sandbox, 'url'>): Workspace {
  const cwd = temporaryFolder()
  const state = temporaryFolder()
  const key = canaryKey().replaceAll(/[^\w+/]/g, 'x')
  const ownEnv = { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: key, MODELGATE_STATE_DIR: state }
  const files = () =>
    readdirSync(cwd, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
      .sort()
  const read = (name: string) => readFileSync(join(cwd, name))
  const info = (name: string) => readImageInfo(read(name))
  const check = ({ out, err }: Pick<RunResult, 'out' | 'err'>) => {
    expectNoKey('standard output', out, key)
    expectNoKey('standard error', err, key)
    expectNoKeyBelow(cwd, key)
    expectNoKeyBelow(state, key)
    expect(files().filter((name) => name.endsWith('.mgpart'))).toEqual([])
  }
  let runs = 0
  return {
    cwd,
    async run(words, { env, ...more } = {}) {
      const result = await runMain(['image', ...words], {
        cwd,
        env: { ...ownEnv, ...env },
        // Each run at a time of its own, which its idempotency key is made from.
        clock: fakeClock({ start: Date.UTC(2026, 0, 1) + runs++ }),
        ...more,
      })
      check(result)
      return result
    },
    async runThroughWaits(words) {
      const run = startProgram(['image', ...words], { env: ownEnv, cwd })
      const code = await run.passWaits()
      const { stdout, stderr } = run.context
      const result = { code, out: stdout.text, err: stderr.text, waits: run.clock.waits }
      check(result)
      return result
    },
    files,
    read,
    info,
    rescued: () => rescuedIn(state),
    pixels: (name) => decodeImage(read(name), info(name)?.mediaType ?? ''),
  }
}

export const { given, runGiven } = answeredBy(workspaceAt)

/** The quickest picture of model A. */
export const quick = ['-m', 'gpt-image-2', '--quality', 'low']
/** The quickest picture of model B, which is given by its URL. */
export const quickUrl = ['-m', 'image-model-b', '--size', '256x256']

/** What is in the rescue folder of a state folder, by name without the time; only its owner may read any of it. */
export function rescuedIn(state: string): ReadonlyMap<string, Buffer> {
  const folder = join(state, 'rescued')
  if (!existsSync(folder)) return new Map()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const entries = readdirSync(folder).map((name) => {
    expect(name).toMatch(/^\d{8}T\d{6}-/)
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    return [name.replace(/^\d{8}T\d{6}-/, ''), readFileSync(join(folder, name))] as const
  })
  return new Map(entries)
}
