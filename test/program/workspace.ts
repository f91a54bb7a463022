import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { JobStore } from '../../src/files/calls/job-store.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { localServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'
import { startProgram } from './start-program.ts'

/** Whether the words are a command for every kind of job. */
export const isForAll = ([command]: readonly string[]) => command === 'wait' || command === 'jobs'

/**
 * A machine for one test, and the program run on it, one command after the other.
 * @param gateway a local server, or a sandbox
 * @param group the words that a command begins with, unless it is one for every kind of job
 */
export function workspaceAt(gateway: { readonly url: string }, group: readonly string[] = []) {
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const state = join(home, '.local/state/modelgate')
  const key = canaryKey().replaceAll(/[^\w+/]/g, 'x')
  const clock = fakeClock()
  const own = { HOME: home, MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: key }

  const begin = (words: readonly string[], { env, ...more }: TestOverrides = {}) =>
    startProgram(words, { home, cwd, clock, ...more, env: { ...own, ...env } })
  const start = (words: readonly string[], more?: TestOverrides) =>
    begin([...(isForAll(words) ? [] : group), ...words], more)

  /** While every wait passes at once. Checks what holds for all runs: no trace of the key, and no file that is half. */
  async function finish(program: ReturnType<typeof start>) {
    const code = await program.passWaits()
    const { stdout, stderr } = program.context
    expectNoKey('standard output', stdout.text, key)
    expectNoKey('standard error', stderr.text, key)
    expectNoKeyBelow(home, key)
    expect(files().filter((name) => name.endsWith('.mgpart'))).toEqual([])
    return { code, out: stdout.text, bytes: stdout.bytes, err: stderr.text }
  }

  /** Names of all files in the working folder, in order; temporary ones too. */
  const files = () =>
    readdirSync(cwd, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
      .toSorted()

  return {
    home,
    cwd,
    state,
    key,
    clock,
    start,
    async run(words: readonly string[], more?: TestOverrides) {
      // Two commands of one person are never started at the same moment.
      await clock.advance(1000)
      return await finish(start(words, more))
    },
    /** The command of a hint or of a line, as a shell would take its words apart, run again. */
    async paste(text: string, more?: TestOverrides) {
      const [, words] = /modelgate (wait [^\n"(]*)/.exec(text) ?? []
      if (words === undefined) throw new Error(`No command in:\n${text}`)
      await clock.advance(1000)
      return await finish(begin(words.trim().split(' '), more))
    },
    /** What is on record of jobs, newest first. */
    async records() {
      const { jobs } = await new JobStore(state, clock).list()
      return jobs.map((job) => ({ ...job.record, prompt: job.prompt() }))
    },
    files,
    read: (name: string) => readFileSync(join(cwd, name)),
  }
}

/** For commands that begin with these words: opens workspaces whose gateway gives these replies, and runs one in it. */
export function answeredBy(group: readonly string[] = []) {
  const given = async (...replies: readonly ServerReply[]) => {
    const server = await localServer(replies)
    return { ...workspaceAt(server, group), server }
  }
  const runGiven = async (words: readonly string[], ...replies: readonly ServerReply[]) => {
    const workspace = await given(...replies)
    return { ...workspace, ...(await workspace.run(words)) }
  }
  return { given, runGiven }
}
