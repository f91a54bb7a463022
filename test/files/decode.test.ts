import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBase64 } from '../../src/files/media-references.ts'
import { decodeText } from '../../src/files/input-file.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/sample.ts'

test.each<[string, string, Uint8Array]>([
  ['UTF-8', 'aä😀\0', Buffer.from('aä😀\0')],
  ['UTF-8 with a mark', 'aä', Buffer.from('\uFEFFaä')],
  ['UTF-16 little-endian', 'aä😀', Buffer.from('\uFEFFaä😀', 'utf16le')],
  ['UTF-16 big-endian', 'aä😀', Buffer.from('\uFEFFaä😀', 'utf16le').swap16()],
  ['nothing', '', new Uint8Array()],
])('%s is decoded', (_, text, bytes) => {
  expect(decodeText(bytes)).toEqual({ text })
})

test.each<[string, number[], number]>([
  ['a stray byte', [0x61, 0xff, 0x62], 1],
  ['a continuation alone', [0x80], 0],
  ['an overlong form', [0x61, 0xc0, 0x80], 1],
  ['an overlong form of three', [0xe0, 0x80, 0x80], 0],
  ['a surrogate', [0x61, 0x61, 0xed, 0xa0, 0x80], 2],
  ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80], 0],
  ['behind the character that stands for such bytes', [0xef, 0xbf, 0xbd, 0xef, 0xbf, 0x41], 3],
  ['a character cut by the end', [0xc3, 0xa4, 0xf0, 0x9f, 0x98], 2],
])('%s is placed', (_, bytes, offset) => {
  expect(decodeText(new Uint8Array(bytes))).toMatchObject({ offset })
})

test.each([
  [[0x61, 0xff], 'is not UTF-8 text (byte 0xff at offset 1)'],
  [[0xff, 0xfe, 0x61], 'is not UTF-16 text'],
])('of the bytes %j is said what is wrong', (bytes, problem) => {
  expect(decodeText(new Uint8Array(bytes))).toMatchObject({ problem })
})

const part = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  anyText({ maxLength: 3 }).map((text) => Buffer.from(text)),
)
const utf8Like = fc
  .array(part, { maxLength: 8 })
  .map((parts) => Buffer.concat(parts))
  .filter((bytes) => (bytes[0] ?? 0) < 0xf5 && !bytes.includes('\uFFFD'))

test('any bytes: valid exactly when the platform says so, and the place is that of the first replacement', () => {
  fc.assert(
    fc.property(utf8Like, (bytes) => {
      const { text, offset } = decodeText(bytes)
      const replaced = bytes.toString('utf8')
      const place = replaced.indexOf('\uFFFD')
      const expected = place === -1 ? undefined : Buffer.byteLength(replaced.slice(0, place))
      expect(offset).toBe(expected)
      expect(text).toBe(expected === undefined ? replaced.replace(/^\uFEFF/, '') : undefined)
    }),
    runs(5000),
  )
})

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
