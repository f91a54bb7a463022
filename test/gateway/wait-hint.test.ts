import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitHint } from '../../src/gateway/retry.ts'

const { TZ } = process.env
beforeAll(() => void (process.env['TZ'] = 'America/New_York'))
afterAll(() => {
  if (TZ === undefined) delete process.env['TZ']
  else process.env['TZ'] = TZ
})

const now = Date.UTC(2026, 0, 1)
const date = (seconds: number) => new Date(now + seconds * 1000).toUTCString()

test.for([
  ['nothing', {}, undefined],
  ['seconds', { 'retry-after': '2' }, 2],
  ['no seconds at all', { 'retry-after': '0' }, 0],
  ['a fraction', { 'retry-after': ' 1.5 ' }, 1.5],
  ['a fraction of several digits', { 'retry-after': '1.25' }, 1.25],
  ['a day', { 'retry-after': '86400' }, 86_400],
  ['far too many seconds', { 'retry-after': '999999999999' }, 999_999_999_999],
  ['negative seconds', { 'retry-after': '-5' }, undefined],
  ['a word', { 'retry-after': 'soon' }, undefined],
  ['nothing in it', { 'retry-after': '' }, undefined],
  ['more than a number holds', { 'retry-after': '1e309' }, undefined],
  ['digits without end', { 'retry-after': '9'.repeat(400) }, undefined],
  ['two headers', { 'retry-after': '1, 2' }, undefined],
  ['hexadecimal', { 'retry-after': '0x10' }, undefined],
  ['a date', { 'retry-after': date(30) }, 30],
  ['a date after spaces', { 'retry-after': `  ${date(30)}` }, 30],
  [
    'a date in the form of C, which is in Greenwich time, too',
    { 'retry-after': 'Thu Jan  1 00:00:30 2026' },
    30,
  ],
  [
    'a day of the week that is inside of a text',
    { 'retry-after': 'on Thu, 01 Jan 2026 00:00:30 GMT' },
    undefined,
  ],
  ['a date gone by', { 'retry-after': date(-30) }, 0],
  ['a date, with a clock a day ahead of ours', { 'retry-after': date(86_430), date: date(86_400) }, 30],
  ['a date, with a clock a day behind ours', { 'retry-after': date(-86_370), date: date(-86_400) }, 30],
  ['a date, and nonsense for the own date', { 'retry-after': date(30), date: 'today' }, 30],
  ['a date that is none', { 'retry-after': 'Fri, 99 Foo 2026' }, undefined],
  ['milliseconds', { 'retry-after-ms': '1500' }, 1.5],
  ['milliseconds before seconds', { 'retry-after-ms': '250', 'retry-after': '9' }, 0.25],
  ['nonsense for milliseconds', { 'retry-after-ms': 'x', 'retry-after': '9' }, 9],
  ['negative milliseconds', { 'retry-after-ms': '-1' }, undefined],
] as const)('reads %s', ([, headers, seconds]) => {
  expect(waitHint(headers, undefined, now)).toBe(seconds)
})

test('takes the wait from the body where the headers tell none', () => {
  expect(waitHint({}, 34.4, now)).toBe(34.4)
  expect(waitHint({ 'retry-after': 'soon' }, 34.4, now)).toBe(34.4)
  expect(waitHint({ 'retry-after': '0' }, 34.4, now)).toBe(0)
})
