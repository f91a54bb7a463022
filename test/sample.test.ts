import { expect, test } from 'vitest'
import { depth, sample } from './support/sample.ts'

const names = Array.from({ length: 200 }, (_, at) => `row ${at}`)

test('one more item does not move the choice among the others', () => {
  const share = { quick: 0.3, ci: 0.3 }
  const before = sample(names, share)
  expect(sample(['new', ...names], share).filter((name) => name !== 'new')).toEqual(before)
  expect(before.length).toBeGreaterThan(20)
})

test('at full depth all are taken, else so many of each group, in their order', () => {
  const groupOf = (name: string) => name.at(-1)
  const chosen = sample(names, { quick: 1, ci: 2 }, String, groupOf)
  expect(chosen).toEqual(names.filter((name) => chosen.includes(name)))
  expect(Map.groupBy(chosen, groupOf).size).toBe(10)
  expect(chosen.length).toBe({ quick: 10, ci: 20, full: 200 }[depth])
})
