import { expect, test } from 'vitest'
import { decodeBase64 } from '../../src/files/decode-base64.ts'

const bytes = Buffer.from([251, 255, 254, 0, 1])

test.for([
  ['padded', '+//+AAE='],
  ['without padding', '+//+AAE'],
  ['in the other alphabet', '-__-AAE='],
  ['in lines', ' +//+\r\nAAE=\n'],
  ['in a data URL', 'data:image/png;base64,+//+AAE='],
  ['in a data URL with parameters', ' DATA:image/png;charset=utf-8; base64 ,+//+AAE='],
])('reads base64 %s', ([, text]) => {
  expect(decodeBase64(text!)).toEqual(bytes)
})

test.for([
  ['nothing', ''],
  ['blanks', ' \n'],
  ['padding alone', '=='],
  ['a single digit', 'A'],
  ['an odd digit at the end', '+//+A'],
  ['dots', '+//+AAE...'],
  ['digits after the padding', '+//+AAE=AAAA'],
  ['an address', 'https://example.com/a.png'],
  ['a data URL of plain text', 'data:text/plain,+//+'],
  ['an empty data URL', 'data:image/png;base64,'],
  ['other letters', 'ÄÖÜß'],
])('refuses %s', ([, text]) => {
  expect(decodeBase64(text!)).toBeUndefined()
})

test('takes work that grows with the text alone', () => {
  const blanks = ' '.repeat(2_000_000)
  expect(decodeBase64(`${blanks}%`)).toBeUndefined()
  expect(decodeBase64(`AA=${blanks}%`)).toBeUndefined()
  expect(decodeBase64(`data:${blanks}%`)).toBeUndefined()
})
