import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { JobListDocument, JobSummary } from '../../src/events/video.ts'
import { canaryKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { isForAll } from '../program/workspace.ts'
import { endOf, spawnProgram } from './spawn-program.ts'

export type VideoWorkspace = ReturnType<typeof videoWorkspace>

/** A machine of somebody who runs one command after the other, or several at once. */
export function videoWorkspace({ url }: { readonly url: string }) {
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const key = canaryKey()
  // At the end: meanwhile files come and go.
  onTestFinished(() => expectNoKeyBelow(home, key))
  const env = { HOME: home, MODELGATE_BASE_URL: url, MODELGATE_API_KEY: key }
  const names = () => readdirSync(cwd).sort()
  const whole = (words: readonly string[]) => (isForAll(words) ? words : ['video', ...words])
  const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    spawnProgram(whole(words), { cwd, env: { ...env, ...more } })
  const run = (words: readonly string[]) => endOf(whole(words), { cwd, env })
  return {
    home,
    cwd,
    start,
    run,
    /** What `jobs` tells. */
    async list(): Promise<readonly JobSummary[]> {
      const { exit, stdout, stderr } = await run(['jobs', '--json'])
      expect([exit, stderr]).toEqual([0, ''])
      const { jobs, warnings } = JSON.parse(stdout) as JobListDocument
      expect(warnings).toEqual([])
      return jobs
    },
    /** Names of the files that are whole. */
    files: () => names().filter((name) => !name.endsWith('.mgpart')),
    /** Names of the files that are being written, or that a killed program has left. */
    parts: () => names().filter((name) => name.endsWith('.mgpart')),
    read: (name: string) => readFileSync(join(cwd, name)),
    /** What is on disk of the reply to a creation. */
    reply(): string {
      const replies = join(home, '.local/state/modelgate/calls/replies')
      const [name] = existsSync(replies) ? readdirSync(replies) : []
      return name === undefined ? '' : readFileSync(join(replies, name), 'utf8')
    },
    has: (name: string) => existsSync(join(cwd, name)),
  }
}
