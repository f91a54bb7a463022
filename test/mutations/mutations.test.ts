import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { groups } from './groups.ts'

const root = join(import.meta.dirname, '../..')
const units = groups.flatMap((group) => group.units)

// How many of Stryker's changes are noticed is counted by hand: `npm run stryker`.
test('the files of the groups exist, and each source belongs to one', () => {
  const sources = units.flatMap(({ files }) => files)
  const paths = [...sources, ...units.flatMap(({ tests }) => tests)]
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(sources).toEqual([...new Set(sources)])
})
