import { expect, test } from 'vitest'
import { byteText, clockTime, roundedDuration } from '../../../src/quantities.ts'

test.each([
  [-1, '0:00'],
  [5.9, '0:05'],
  [60, '1:00'],
  [754, '12:34'],
  [3599.9, '59:59'],
  [3600, '1:00:00'],
  [90_061, '25:01:01'],
])('%d s on a clock is %s', (seconds, text) => {
  expect(clockTime(seconds)).toBe(text)
})

test.each([
  [0.4, '0 s'],
  [89, '89 s'],
  [90, '1 min'],
  [3120, '52 min'],
  [5400, '1 h'],
  [129_599, '35 h'],
  [129_600, '1 d'],
])('%d s are about %s', (seconds, text) => {
  expect(roundedDuration(seconds)).toBe(text)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [2_147_483_648, '2.1 GB'],
  [5e15, '5000 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(byteText(bytes)).toBe(text)
})
