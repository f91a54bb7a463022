import { expect, test } from 'vitest'
import { createBoundedMap } from '../../src/sandbox/bounded-map.ts'

test('the oldest entries make room, and the newest stays whatever its size', () => {
  const map = createBoundedMap<string>(3, 10)
  map.set('a', 'A', 4)
  map.set('b', 'B', 4)
  map.set('a', 'A again', 4)
  expect([...map.values()]).toEqual(['B', 'A again'])
  map.set('c', 'C', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual(['A again', undefined, 'C'])
  map.set('d', 'D', 99)
  expect([...map.values()]).toEqual(['D'])
  map.delete('d')
  for (const key of ['e', 'f', 'g', 'h']) map.set(key, key, 1)
  expect([...map.values()]).toEqual(['f', 'g', 'h'])
})
