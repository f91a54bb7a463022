import { expect, test } from 'vitest'
import { localDay, localMinute, localSecond, midnight } from '../src/local-time.ts'

test('a local day begins at midnight, and times are shown as they are here', () => {
  const now = new Date(2026, 10, 22, 10, 30).getTime()
  expect(midnight(now)).toBe(new Date(2026, 10, 22).getTime())
  expect(localDay(now)).toBe('2026-11-22')
  const early = new Date(2026, 0, 2, 3, 4, 5).getTime()
  expect(localMinute(early)).toBe('2026-01-02 03:04')
  expect(localSecond(early)).toBe('2026-01-02 03:04:05')
})
