import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { answeredBy } from '../workspace.ts'

export const { given, runGiven } = answeredBy(['image'])

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
