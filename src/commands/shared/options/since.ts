import { UsageError } from '../../../errors.ts'
import { midnight } from '../../../local-time.ts'

/** By the first letter of a unit. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const sinceForms =
  'a date or time (2026-11-22, 2026-11-22T09:30), today, yesterday, or an age such as 90m, 24h, 7d, 2w'

/**
 * In milliseconds since 1970. Dates, and times without a zone, are those of this machine: a date means its midnight.
 * @param name of the flag or variable, for the message
 */
export function parseSince(name: string, text: string, now: number): number {
  const time = timeOf(text.trim().toLowerCase(), now)
  if (time === undefined) {
    throw new UsageError(`${name} must be ${sinceForms}, not ${JSON.stringify(text.slice(0, 40))}.`, {})
  }
  if (time <= now) return time
  throw new UsageError(`${name}: ${text} is still to come.`)
}

function timeOf(text: string, now: number): number | undefined {
  if (text === 'today') return midnight(now)
  // Not 24 hours before: a day on which the clock is changed has more or less.
  if (text === 'yesterday') return midnight(midnight(now) - 1)
  const age = /^(\d{1,5})(?:([smhdw])| ?(sec|min|seconds?|minutes?|hours?|days?|weeks?)(?: ago)?)$/.exec(text)
  if (age !== null) return now - Number(age[1]) * units[(age[2] ?? age[3])![0]!]!
  const [, date, clock = 't00:00'] =
    /^(\d{4}-\d{2}-\d{2})([t ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? []
  if (date === undefined || !isDate(date)) return undefined
  // Without a zone, such a time is a local one (ECMAScript).
  const time = Date.parse(`${date}${clock.replace(' ', 't')}`.toUpperCase())
  return Number.isNaN(time) ? undefined : time
}

/** 30 February would be taken for a day in March. */
function isDate(date: string): boolean {
  const time = Date.parse(`${date}T00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
}
