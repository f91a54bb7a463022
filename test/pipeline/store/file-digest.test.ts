import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { digestOfFile, digestOfInput, isTextType } from '../../../src/pipeline/store/file-digest.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { digestOf, fileOf, twoLines } from './store-samples.ts'

const lines = { sha256: twoLines, bytes: 8 }

test('a text has one digest with LF and with CR LF', async () => {
  expect(await digestOfFile(fileOf('One\nTwo\n'), true)).toEqual(lines)
  expect(await digestOfFile(fileOf('One\r\nTwo\r\n'), true)).toEqual(lines)
  expect(await digestOfFile(fileOf('One\rTwo\n'), true)).not.toEqual(lines)
  expect(await digestOfFile(fileOf('\ufeffOne\nTwo\n'), true)).toMatchObject({ bytes: 11 })
})

test('other outputs have the digest of their bytes', async () => {
  expect(await digestOfFile(fileOf('One\nTwo\n'), false)).toEqual(lines)
  expect(await digestOfFile(fileOf('One\r\nTwo\r\n'), false)).toMatchObject({ bytes: 10 })
})

test('an input that is text has one digest however it was checked out', async () => {
  expect(await digestOfInput(fileOf('\ufeffOne\r\nTwo\r\n'))).toEqual(lines)
  const picture = Buffer.from('\x89PNG\r\n\x1a\nOne\r\n', 'latin1')
  const sha256 = digestOf(picture)
  expect(await digestOfInput(fileOf(picture))).toEqual({ sha256, bytes: 13 })
})

test('what is not a file is told, and a pipe does not hang', async () => {
  const folder = temporaryFolder()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await expect(digestOfFile(folder, false)).rejects.toMatchObject({ code: 'not_a_file' })
  await expect(digestOfFile(join(folder, 'pipe'), false)).rejects.toMatchObject({ code: 'not_a_file' })
})

// The program reads a file of a mebibyte or more in pieces.
describe('a large file', () => {
  const piece = 1_048_576
  test.each([piece - 1, piece, piece + 1, 2 * piece + 1])('of %i bytes', async (bytes) => {
    const content = Buffer.alloc(bytes, 'abc\n')
    const sha256 = digestOf(content)
    expect(await digestOfFile(fileOf(content), false)).toEqual({ sha256, bytes })
  })

  test('whose CR LF lies across two pieces', async () => {
    const line = 'x'.repeat(piece - 1)
    const sha256 = digestOf(`${line}\nend\n`)
    expect(await digestOfFile(fileOf(`${line}\r\nend\r\n`), true)).toEqual({ sha256, bytes: piece + 4 })
  })
})

test.each([
  ['text/markdown', true],
  ['text/plain; charset=utf-8', true],
  ['application/json', true],
  ['image/svg+xml', true],
  ['application/ld+json', true],
  ['image/png', false],
  ['video/mp4', false],
  ['application/octet-stream', false],
  ['application/jsonx', false],
])('%s is text: %s', (mediaType, isText) => {
  expect(isTextType(mediaType)).toBe(isText)
})
