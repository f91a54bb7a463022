import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { orderInstances, parseReference } from '../../../src/pipeline/manifest/references.ts'

const orderOf = (needs: Readonly<Record<string, readonly string[]>>) =>
  orderInstances(Object.keys(needs), (id) => needs[id] ?? [])

test('puts each behind what it needs, and leaves the rest as it is', () => {
  expect(orderOf({ teaser: ['hero', 'banner'], banner: ['hero'], copy: [], hero: ['nothing'] })).toEqual({
    order: ['hero', 'banner', 'teaser', 'copy'],
    cycles: [],
  })
})

test.each([
  [{ a: ['a'] }, [['a', 'a']]],
  [{ x: ['b'], a: ['b'], b: ['c'], c: ['a'] }, [['b', 'c', 'a', 'b']]],
  [
    { a: ['b'], b: ['a'], c: ['d'], d: ['c'] },
    [
      ['a', 'b', 'a'],
      ['c', 'd', 'c'],
    ],
  ],
  [{ 'a[1]': ['b[1]'], 'b[1]': ['a[1]'], 'a[2]': ['b[2]'], 'b[2]': ['a[2]'] }, [['a[1]', 'b[1]', 'a[1]']]],
])('names the cycles of %j', (needs, cycles) => {
  expect(orderOf(needs).cycles).toEqual(cycles)
})

test('goes as deep as there are instances', () => {
  const ids = Array.from({ length: 50_000 }, (_, at) => `i${at}`)
  const { order } = orderOf(Object.fromEntries(ids.map((id, at) => [id, ids.slice(at + 1, at + 2)])))
  expect(order).toEqual(ids.toReversed())
})

test('has every instance once, behind its needs unless there is a cycle, which is one', () => {
  const graph = fc.array(fc.array(fc.nat(12), { maxLength: 4 }), { maxLength: 13 })
  fc.assert(
    fc.property(graph, (edges) => {
      const needs = Object.fromEntries(edges.map((to, at) => [`job${at}`, to.map((id) => `job${id}`)]))
      const { order, cycles } = orderOf(needs)
      expect(order.toSorted()).toEqual(Object.keys(needs).toSorted())
      for (const cycle of cycles) {
        expect(cycle[0]).toBe(cycle.at(-1))
        for (const [at, id] of cycle.slice(1).entries()) expect(needs[cycle[at]!]).toContain(id)
      }
      if (cycles.length > 0) return
      for (const [at, id] of order.entries()) {
        for (const need of needs[id]!) expect(order.indexOf(need)).toBeLessThan(at)
      }
    }),
  )
})

test.each([
  ['@hero', { job: 'hero', row: undefined, candidate: null }],
  ['@photos[red shoe #1/2]#3', { job: 'photos', row: 'red shoe #1/2', candidate: 3 }],
  ['@photos[e\u0301]', { job: 'photos', row: '\u00e9', candidate: null }],
])('%s', (text, parts) => {
  expect(parseReference(text)).toEqual(parts)
})
