import { expect, test } from 'vitest'
import { completed, delta, memoryOf } from './stream-memory.ts'

const chunk = (text: string, more = '') =>
  `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]}${more}}]}\n\n`

test.for<[string, string, string, number, string, number]>([
  ['tiny chunks', 'generate', chunk('a'), 6_000_000, chunk('!', ',"finishReason":"STOP"'), 0],
  ['tiny events', 'respond', delta, 1_600_000, completed, 0],
  ['lines of data', 'respond', 'data:\n', 4_000_000, `\n${completed}`, 9],
])('%s take no more than 130 MB, however many there are', async ([, command, piece, times, last, code]) => {
  const { exit, memory } = await memoryOf(command, piece, times, last)
  expect(exit).toBe(code)
  expect(memory).toBeLessThan(130)
})

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
