import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { groups } from './groups.ts'

const root = join(import.meta.dirname, '../..')

// How many of Stryker's changes are noticed is counted by hand: `npm run stryker`.
test.each(groups.map((group) => [group.name, group] as const))(
  'the files of the group %s exist',
  (_, { units }) => {
    const paths = units.flatMap(({ files, tests }) => [...files, ...tests])
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(units.filter(({ files, tests }) => files.length === 0 || tests.length === 0)).toEqual([])
  },
)

test('a mutated file belongs to one group', () => {
  const files = groups.flatMap(({ units }) => units.flatMap((unit) => unit.files))
  expect(files).toEqual([...new Set(files)])
})
