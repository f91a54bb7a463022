import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import type { JobRecord } from '../../../src/files/calls/job-record.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../../support/canary-key.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'
import { startProgram, type RunningProgram } from '../start-program.ts'

export interface VideoRun {
  readonly code: number
  readonly out: string
  /** Standard output as it is. */
  readonly bytes: Buffer
  readonly err: string
  /** In milliseconds; all have passed at once. */
  readonly waits: readonly number[]
}

/** A machine for one test, and the program run on it, one command after the other. */
export interface VideoWorkspace {
  readonly home: string
  /** Where the commands are run, unless told. */
  readonly cwd: string
  readonly key: string
  /** Starts `video` with these words. */
  start(words: readonly string[], more?: TestOverrides): RunningProgram
  /** The same to its end, while every wait passes at once; and checks that there is no trace of the key. */
  run(words: readonly string[], more?: TestOverrides): Promise<VideoRun>
  /** The command of a hint or of a line, as a shell would take its words apart, run again. */
  paste(text: string, more?: TestOverrides): Promise<VideoRun>
  /** What is on record, newest first. */
  records(): Promise<readonly (JobRecord & { readonly prompt: string })[]>
  /** Names of all files in the working folder, in order; temporary ones too. */
  files(): readonly string[]
  read(name: string): Buffer
}

/** Whether the words are a command for every kind of job. */
export const isForAll = ([command]: readonly string[]) => command === 'wait' || command === 'jobs'

/**
 * @param gateway a local server, or a sandbox
 * @param group the words that a command begins with, unless it is one for every kind of job
 */
export function videoWorkspace(
  gateway: { readonly url: string },
  group: readonly string[] = ['video'],
): VideoWorkspace {
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const key = canaryKey().replaceAll(/[^\w+/]/g, 'x')
  const clock = fakeClock()
  const env = { HOME: home, MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: key }
  const begin = (words: readonly string[], { env: own, ...more }: TestOverrides = {}) =>
    startProgram(words, { home, cwd, clock, ...more, env: { ...env, ...own } })

  const start = (words: readonly string[], more?: TestOverrides) =>
    begin([...(isForAll(words) ? [] : group), ...words], more)

  async function finish(words: readonly string[], more: TestOverrides = {}): Promise<VideoRun> {
    // Two commands of one person are never started at the same moment.
    await clock.advance(1000)
    const program = begin(words, more)
    const code = await program.passWaits()
    const { stdout, stderr } = program.context
    expectNoKey('standard output', stdout.text, key)
    expectNoKey('standard error', stderr.text, key)
    expectNoKeyBelow(home, key)
    return { code, out: stdout.text, bytes: stdout.bytes, err: stderr.text, waits: program.clock.waits }
  }
  return {
    home,
    cwd,
    key,
    start,
    run: (words, more) => finish([...(isForAll(words) ? [] : group), ...words], more),
    async paste(text, more) {
      const [, words] = /modelgate (wait [^\n"(]*)/.exec(text) ?? []
      if (words === undefined) throw new Error(`No command in:\n${text}`)
      return await finish(words.trim().split(' '), more)
    },
    async records() {
      const { jobs } = await new JobStore(join(home, '.local/state/modelgate'), clock).list()
      return jobs.map((job) => ({ ...job.record, prompt: job.prompt() }))
    },
    files: () => (existsSync(cwd) ? readdirSync(cwd).sort() : []),
    read: (name) => readFileSync(join(cwd, name)),
  }
}

/** Fails unless no file of an unfinished download is left. */
export function expectNoPart(workspace: VideoWorkspace): void {
  expect(workspace.files().filter((name) => name.endsWith('.mgpart'))).toEqual([])
}
