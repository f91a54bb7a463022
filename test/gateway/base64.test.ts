import { expect, test } from 'vitest'
import { createBase64Decoder } from '../../src/gateway/base64.ts'
import { inPieces } from '../support/server-replies.ts'
import { verdictOf } from './test-gateway.ts'

// Other spellings, other characters, and small texts in any pieces: the fuzz targets `base64` and `bad-base64`.

/** Decodes a text that arrives in pieces of this size. */
async function decode(text: string, size = 100_000): Promise<Buffer> {
  const blocks: Uint8Array[] = []
  const decoder = createBase64Decoder(async (bytes) => void blocks.push(Buffer.from(bytes)))
  for (const piece of inPieces(text, size)) await decoder.push(Buffer.from(piece))
  const total = await decoder.end()
  const whole = Buffer.concat(blocks)
  expect(total).toBe(whole.length)
  return whole
}

test.for('= == A A= A== AA= AA=== AAA== AAAA= AAAA== AA==AAAA AA=A =AAA AA==x AAAAA'.split(' '))(
  'refuses %s',
  async (text) => {
    for (const size of [1, 100]) expect(await verdictOf(decode(text, size))).toBe('8 damaged_media')
  },
)

// Blocks of 393,216 bytes are filled by some of them.
test.for([700_001, 393_217, 393_218, 786_433, 786_434])('agrees with Node on %i bytes', async (length) => {
  const bytes = Buffer.alloc(length, 'the bytes of a picture')
  const text = bytes.toString('base64')
  for (const size of [65_536, 65_537, 262_143, 262_144, 1_000_000, 2_000_000]) {
    expect(bytes.equals(await decode(text, size))).toBe(true)
    expect(bytes.equals(await decode(text.replaceAll('=', ''), size))).toBe(true)
  }
})

test('a block holds as long as its writer is at work', async () => {
  let writing = false
  const written: boolean[] = []
  const decoder = createBase64Decoder(async (bytes) => {
    expect(writing).toBe(false)
    writing = true
    const copy = Buffer.from(bytes)
    await new Promise((resolve) => setImmediate(resolve))
    written.push(copy.equals(bytes))
    writing = false
  })
  for (const letter of 'ABCDEF') await decoder.push(Buffer.alloc(400_000, letter))
  await decoder.end()
  expect(written.length).toBeGreaterThan(5)
  expect(written).not.toContain(false)
})

test.each([
  [400_000, 'ok'],
  [400_001, '8 reply_too_large'],
])('of %i bytes at most 400,000 are written: %s', async (size, verdict) => {
  let written = 0
  const decoder = createBase64Decoder(async ({ length }) => void (written += length), 400_000)
  const text = Buffer.from(Buffer.alloc(size).toString('base64'))
  expect(await verdictOf(decoder.push(text).then(() => decoder.end()))).toBe(verdict)
  expect(written).toBeLessThanOrEqual(400_000)
})
