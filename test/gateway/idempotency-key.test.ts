import { expect, test } from 'vitest'
import { idempotencyKeyOf } from '../../src/gateway/url.ts'
import { fakeClock } from '../support/fake-clock.ts'

test('a key is a UUID of version 7: the time, then a random digit at every place that is left', () => {
  let calls = 0
  const clock = fakeClock({ start: Date.UTC(2026, 10, 21), random: () => (calls++ % 16) / 16 })
  expect(idempotencyKeyOf({ clock })).toBe('01a1fb67-1800-7123-8456-789abcdef012')
})

test('the key of a caller is the one that is sent', () => {
  const clock = fakeClock({ random: Math.random })
  expect(idempotencyKeyOf({ clock, idempotencyKey: 'of-the-caller' })).toBe('of-the-caller')
  expect(idempotencyKeyOf({ clock })).not.toBe(idempotencyKeyOf({ clock }))
})

test('keys of the same millisecond differ', () => {
  const clock = fakeClock({ random: Math.random })
  const keys = Array.from({ length: 10_000 }, () => idempotencyKeyOf({ clock }))
  expect(new Set(keys).size).toBe(10_000)
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  expect(keys.filter((key) => !uuid.test(key))).toEqual([])
})
