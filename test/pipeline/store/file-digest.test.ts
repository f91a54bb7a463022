import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digestOfFile, digestOfInput, isTextType } from '../../../src/pipeline/store/file-digest.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { digestOf, fileOf } from './store-samples.ts'

const expected = (content: string | Buffer) => ({
  sha256: digestOf(content),
  bytes: Buffer.byteLength(content),
})

test.each([
  ['One\nTwo\n', 'One\nTwo\n'],
  ['One\r\nTwo\r\n', 'One\nTwo\n'],
  ['One\rTwo\n', 'One\rTwo\n'],
  ['\ufeffOne\nTwo\n', '\ufeffOne\nTwo\n'],
])('the text %j has the digest of %j, another output that of its bytes', async (content, hashed) => {
  expect(await digestOfFile(fileOf(content), true)).toEqual(expected(hashed))
  expect(await digestOfFile(fileOf(content), false)).toEqual(expected(content))
})

test('an input that is text has one digest however it was checked out', async () => {
  expect(await digestOfInput(fileOf('\ufeffOne\r\nTwo\r\n'))).toEqual(expected('One\nTwo\n'))
  const picture = Buffer.from('\x89PNG\r\n\x1a\nOne\r\n', 'latin1')
  expect(await digestOfInput(fileOf(picture))).toEqual(expected(picture))
})

test('what is not a file is told, and a pipe does not hang', async () => {
  const folder = temporaryFolder()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await expect(digestOfFile(folder, false)).rejects.toMatchObject({ code: 'not_a_file' })
  await expect(digestOfFile(join(folder, 'pipe'), false)).rejects.toMatchObject({ code: 'not_a_file' })
})

// The program reads a file of a mebibyte or more in pieces.
const piece = 1_048_576

test.each([piece - 1, piece, piece + 1, 2 * piece + 1])('a file has %i bytes', async (bytes) => {
  const content = Buffer.alloc(bytes, 'abc\n')
  expect(await digestOfFile(fileOf(content), false)).toEqual(expected(content))
})

test('a CR LF lies across two pieces', async () => {
  const line = 'x'.repeat(piece - 1)
  expect(await digestOfFile(fileOf(`${line}\r\nend\r\n`), true)).toEqual(expected(`${line}\nend\n`))
})

const texts = [
  'text/markdown',
  'text/plain; charset=utf-8',
  'application/json',
  'image/svg+xml',
  'application/ld+json',
]
const others = ['image/png', 'video/mp4', 'application/octet-stream', 'application/jsonx']

test('text is told from other types', () => {
  expect([...texts, ...others].filter(isTextType)).toEqual(texts)
})
