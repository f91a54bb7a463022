import { expect, test } from 'vitest'
import { parseSince } from '../../../../src/commands/shared/options/since.ts'

/** Sunday, 22 November 2026, 10:30 local time. */
const now = new Date(2026, 10, 22, 10, 30).getTime()
const local = (...parts: [number, number, number, number?, number?]) => new Date(...parts).getTime()

test.each<[string, number]>([
  ['90s', now - 90_000],
  ['15m', now - 900_000],
  ['15 minutes ago', now - 900_000],
  ['2h', now - 7_200_000],
  ['2 hours', now - 7_200_000],
  ['3d', now - 259_200_000],
  ['1w', now - 604_800_000],
  ['today', local(2026, 10, 22)],
  ['Yesterday', local(2026, 10, 21)],
  ['2026-11-20', local(2026, 10, 20)],
  ['2026-11-20T15:30', local(2026, 10, 20, 15, 30)],
  ['2026-11-20 15:30', local(2026, 10, 20, 15, 30)],
  ['2026-11-20T15:30:05Z', Date.UTC(2026, 10, 20, 15, 30, 5)],
  ['2026-11-20t15:30+02:00', Date.UTC(2026, 10, 20, 13, 30)],
])('%s', (when, time) => {
  expect(parseSince('--since', when, now)).toBe(time)
})

const nonsense = '|2|2x|2months|3 moments|soon|2026-02-30|2026-13-01|20.11.2026|2026-11-20T99:00'

test.each(nonsense.split('|'))('%j is no time', (when) => {
  expect(() => parseSince('--since', when, now)).toThrow(/^--since must be a date or time/)
})

test('what is still to come is refused', () => {
  expect(() => parseSince('--since', '2026-11-23', now)).toThrow('--since: 2026-11-23 is still to come.')
})
