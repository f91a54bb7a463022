import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { asModelgateError } from '../../../src/errors.ts'
import type { SharedStore } from '../../../src/pipeline/store/blob-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Of `One\nTwo\n`: printf 'One\nTwo\n' | sha256sum */
export const twoLines = '2fcfb7830c3bb1c40b0a64f0549acc4c661f7f9f8c39d3b8ecaaf51313670f68'

export const digestOf = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

/** A file in a folder of its own. */
export function fileOf(content: string | Uint8Array): string {
  const path = join(temporaryFolder(), 'file')
  writeFileSync(path, content)
  return path
}

/** What may become of a file with `One\nTwo\n`, so that it no longer is what its name says. */
export const spoilings: readonly (readonly [what: string, spoil: (path: string) => void])[] = [
  ['flipped', (path) => writeFileSync(path, 'One\nTwO\n')],
  ['cut', (path) => writeFileSync(path, 'One\n')],
  ['empty', (path) => writeFileSync(path, '')],
  ['swapped for another one', (path) => writeFileSync(path, 'other')],
  ['a link to the right bytes', (path) => (renameSync(path, `${path}-2`), symlinkSync(`${path}-2`, path))],
  ['a link to nowhere', (path) => (rmSync(path), symlinkSync('nowhere', path))],
  ['a folder', (path) => (rmSync(path), mkdirSync(join(path, 'inner'), { recursive: true }))],
  ['a pipe', (path) => (rmSync(path), execFileSync('mkfifo', [path]))],
  ['gone', (path) => rmSync(path)],
]

/** What a store has of these bytes, as a file; undefined when nothing came, and then nothing is left. */
export async function fetched(
  store: Pick<SharedStore, 'fetch'>,
  sha256: string,
  maxBytes?: number,
): Promise<string | undefined> {
  const folder = temporaryFolder()
  const target = join(folder, 'target')
  const isThere = await store.fetch(sha256, target, maxBytes)
  expect([isThere, readdirSync(folder)]).toEqual([existsSync(target), isThere ? ['target'] : []])
  return isThere ? readFileSync(target, 'utf8') : undefined
}

/** A clock whose waits before another attempt take no time. @param waits receives how long each would have been, in ms */
export function instantClock(waits: number[] = []): typeof systemClock {
  const timer: typeof systemClock.timer = (ms, callback, label) => {
    if (label === 'sleep') waits.push(ms)
    return systemClock.timer(label === 'sleep' ? 0 : ms, callback)
  }
  return { ...systemClock, timer, random: () => 0 }
}

/** How something fails; the word `SECRET` of a test must not be in what is said. */
export async function failureOf(work: Promise<unknown>) {
  const error = await work.then(
    () => ({ code: 'none', exitCode: 0, message: '', facts: {} }),
    (reason: unknown) => asModelgateError(reason, false),
  )
  const { code, exitCode, message, facts } = error
  expect(`${message} ${JSON.stringify(facts)}`).not.toMatch(/SECRET(?!_ACCESS_KEY)/)
  return { code, exitCode, message }
}
