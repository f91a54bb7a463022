import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { placesBelow } from './find-canary.ts'

/**
 * Gives the keys of all tests something in common, and fails the suite when that is seen in the arguments of a process
 * while it runs, or at its end in a file outside the folders of the tests, which look for it in those themselves
 * (`temporary-folder.ts`).
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const canary = randomBytes(8)
    .toString('hex')
    .replaceAll(/\d/g, (digit) => 'ghjkmnpqrs'[Number(digit)]!)
  project.provide('canary', canary)
  const since = Date.now()
  const end = process.platform === 'linux' ? await watchArguments(canary) : undefined
  return async () => {
    const places = [
      ...((await end?.()) ?? []).map((line) => `the arguments of ${line}`),
      ...placesOutside(since).flatMap((folder) => placesBelow(folder, canary)),
    ]
    if (places.length > 0) throw new Error(`A key of a test is in:\n${places.join('\n')}`)
  }
}

/** Looks at the arguments of all processes. @returns ends it, and tells those that had the canary among them, without it */
async function watchArguments(canary: string): Promise<() => Promise<readonly string[]>> {
  const script = join(import.meta.dirname, 'argument-watcher-child.ts')
  const child = spawn(process.execPath, [script], {
    // Not among its arguments, where it would find it.
    env: { PATH: process.env['PATH'], CANARY: canary },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  const begun = once(child.stdout, 'data')
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await begun
  return async () => {
    child.stdin.end()
    await once(child, 'close')
    return text.split('\n').slice(1, -1)
  }
}

/** Where the program would write if it did not keep to the folders that tests give it, and what tests have left. */
function placesOutside(since: number): string[] {
  const home = homedir()
  const names = ['.config/modelgate', '.local/state/modelgate', '.cache/modelgate']
  const left = readdirSync(tmpdir()).filter((name) => name.includes('modelgate'))
  const paths = [...names.map((name) => join(home, name)), ...left.map((name) => join(tmpdir(), name))]
  return paths.filter(
    (path) => existsSync(path) && statSync(path).isDirectory() && statSync(path).mtimeMs >= since,
  )
}
