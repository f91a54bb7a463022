import { expect, test } from 'vitest'
import { completed, delta, memoryOf } from './stream-memory.ts'

test('reasoning takes no more than 130 MB, however long it is', async () => {
  const { exit, memory } = await memoryOf(
    'respond',
    delta.replace('output', 'reasoning'),
    1_600_000,
    completed,
  )
  expect(exit).toBe(9)
  expect(memory).toBeLessThan(130)
})
