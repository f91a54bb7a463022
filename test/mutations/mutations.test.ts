import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutations } from './mutations.ts'

const root = join(import.meta.dirname, '../..')

// Whether they are noticed is tried by hand: `npm run mutations`.
test.each(mutations.map((mutation) => [mutation.name, mutation] as const))(
  '%s can be applied',
  (_, { file, before, after, tests }) => {
    const found = readFileSync(join(root, file), 'utf8').split(before).length - 1
    expect({ file, before, found }).toEqual({ file, before, found: 1 })
    expect(after).not.toBe(before)
    expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([])
  },
)
