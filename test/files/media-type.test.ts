import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { extensionOf, mediaTypeOfName, refineZip, sniffMediaType } from '../../src/files/media-type.ts'
import { runs } from '../support/sample.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const box = (brands: string) => latin1(`\0\0\0${String.fromCharCode(brands.length + 8)}ftyp${brands}rest`)

test.each<[string | undefined, Uint8Array]>([
  ['image/png', latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR')],
  ['image/jpeg', latin1('\xff\xd8\xff\xe0\0\x10JFIF')],
  ['image/jpeg', latin1('\xff\xd8\xff\xdb')],
  ['image/gif', latin1('GIF87a\x01\0')],
  ['image/gif', latin1('GIF89a\x01\0')],
  ['image/webp', latin1('RIFF\x24\0\0\0WEBPVP8 ')],
  ['image/bmp', latin1('BM\x36\0\x0c\0\0\0\0\0\x36\0')],
  ['image/tiff', latin1('II*\0\x08\0\0\0')],
  ['image/avif', box('avif\0\0\0\0avifmif1')],
  ['image/avif', box('mif1\0\0\0\0mif1avif')],
  ['image/heic', box('heic\0\0\0\0mif1heic')],
  ['image/heif', box('mif1\0\0\0\0mif1')],
  ['video/mp4', box('isom\0\0\x02\0isomiso2avc1mp41')],
  ['video/mp4', box('mp42\0\0\0\0M4A ')],
  ['audio/mp4', box('M4A \0\0\0\0')],
  ['video/quicktime', box('qt  \0\0\0\0qt  ')],
  ['video/webm', latin1('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm')],
  ['video/x-matroska', latin1('\x1aE\xdf\xa3\xa3B\x86\x81\x01B\x82\x88matroska')],
  ['video/quicktime', latin1('\0\0\x10\0moov\0\0\0\x6cmvhd')],
  ['video/x-msvideo', latin1('RIFF\x24\0\0\0AVI LIST')],
  ['video/mpeg', latin1('\0\0\x01\xba\x44\0\x04')],
  ['video/mp2t', latin1(`G@\0\x10${'\xff'.repeat(184)}G@\x11\x10`)],
  [undefined, latin1(`G@\0\x10${'\xff'.repeat(183)}G@\x11\x10`)],
  ['video/ogg', latin1(`OggS\0\x02${'\0'.repeat(22)}\x80theora`)],
  ['image/jxl', latin1('\xff\x0a\x00')],
  ['image/jxl', latin1('\0\0\0\x0cJXL \r\n\x87\n')],
  ['audio/mpeg', latin1('ID3\x04\0')],
  ['audio/mpeg', latin1('\xff\xfb\x90\x64')],
  ['audio/aac', latin1('\xff\xf1\x50\x80')],
  ['audio/wav', latin1('RIFF\x24\0\0\0WAVEfmt ')],
  ['audio/ogg', latin1('OggS\0\x02')],
  ['audio/flac', latin1('fLaC\0\0')],
  ['application/pdf', latin1('%PDF-1.7\n%\xe2\xe3')],
  ['application/zip', latin1('PK\x03\x04\x14\0')],
  ['application/gzip', latin1('\x1f\x8b\x08\0')],
  ['text/plain', Buffer.from('BM is the start of a text')],
  ['text/plain', Buffer.from('grüße 😀\r\n\t\x1b[1m')],
  ['text/plain', Buffer.from('cut 😀').subarray(0, 6)],
  [undefined, latin1('Gr\xfc\xdfe')],
  [undefined, latin1('text\0with a zero')],
  [undefined, latin1('\xff\xff\xff\xff')],
  [undefined, latin1('\xff\xfe\xfd')],
  [undefined, latin1('\x89PNG')],
  [undefined, new Uint8Array()],
])('%s is told from the bytes', (mediaType, head) => {
  expect(sniffMediaType(head)).toBe(mediaType)
})

test('any bytes have a type or none, without an error, wherever they stand in a buffer', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(8), (bytes, offset) => {
      const shifted = new Uint8Array(offset + bytes.length)
      shifted.set(bytes, offset)
      expect(sniffMediaType(shifted.subarray(offset))).toBe(sniffMediaType(bytes))
    }),
    runs(2000),
  )
})

test('extensions and back', () => {
  const types = ['image/jpeg', 'Text/Plain; charset=utf-8', 'application/x-unknown', '__proto__']
  expect(types.map(extensionOf)).toEqual(['jpg', 'txt', 'bin', 'bin'])
  const names = ['/a.b/photo.JPEG', '/a.png/photo', 'constructor']
  expect(names.map(mediaTypeOfName)).toEqual(['image/jpeg', undefined, undefined])
})

test('only a zip file may be refined by its name, and only to a document', () => {
  const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
  expect(refineZip('application/zip', 'letter.docx')).toBe(docx)
  expect(refineZip('application/zip', 'picture.png')).toBe('application/zip')
  expect(refineZip('image/png', 'letter.docx')).toBe('image/png')
})
