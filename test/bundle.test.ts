import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importCircles } from './support/import-circles.ts'

const folder = join(import.meta.dirname, '../dist')

/** For each file of the bundle those that it needs before it can run. */
const needs = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith('.cjs'))
    .map((name) => [name, neededBy(readFileSync(join(folder, name), 'utf8'))] as const),
)

function neededBy(code: string): string[] {
  // What is loaded later stands in the function that does so.
  return [...code.matchAll(/[=;]require\("\.\/([^"]+\.cjs)"\)/g)].map(([, name]) => name!)
}

// In a circle one of them would run before what it needs, and a constant of the other be missing at the start.
test('no file of the bundle waits for another that waits for it', () => {
  expect(needs.get('main.cjs')).toContainEqual(expect.stringMatching(/^start-/))
  expect(importCircles(needs)).toEqual([])
})

test('a text request loads few files, since each takes time', () => {
  const loaded = new Set<string>()
  const load = (name: string) => {
    if (loaded.has(name)) return
    loaded.add(name)
    for (const next of needs.get(name) ?? []) load(next)
  }
  load('main.cjs')
  const own = [...needs.keys()].filter((name) => /^(?:program-(?!files)|respond-)/.test(name))
  expect(own).toHaveLength(2)
  own.forEach(load)
  expect(loaded.size).toBeLessThanOrEqual(10)
})

test('the code of previews is loaded only to show one on a terminal', () => {
  expect([...needs.keys()]).toContainEqual(expect.stringMatching(/^protocols-/))
  expect([...needs.values()].flat().filter((name) => name.startsWith('protocols-'))).toEqual([])
})
