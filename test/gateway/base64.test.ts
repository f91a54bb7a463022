import { expect, test } from 'vitest'
import { ContractError } from '../../src/errors.ts'
import { createBase64Decoder } from '../../src/gateway/base64.ts'

/** Decodes a text that arrives in pieces; the code of the error if it is refused. */
async function decode(pieces: Iterable<Uint8Array>): Promise<Buffer | string> {
  const blocks: Uint8Array[] = []
  const decoder = createBase64Decoder(async (bytes) => void blocks.push(Buffer.from(bytes)))
  try {
    for (const piece of pieces) await decoder.push(Buffer.from(piece))
    const total = await decoder.end()
    const whole = Buffer.concat(blocks)
    expect(total).toBe(whole.length)
    return whole
  } catch (error) {
    if (error instanceof ContractError) return error.code
    throw error
  }
}

test.for([
  '=',
  '==',
  'A',
  'A=',
  'A==',
  'AA=',
  'AA===',
  'AAA==',
  'AAAA=',
  'AAAA==',
  'AA==AAAA',
  'AA=A',
  '=AAA',
  'AA= =x',
  'AAAAA',
])('refuses %s', async (text) => {
  expect(await decode([Buffer.from(text)])).toBe('damaged_media')
  expect(
    await decode(
      Buffer.from(text)
        .map((byte) => byte)
        .reduce<Uint8Array[]>((all, byte) => [...all, Uint8Array.of(byte)], []),
    ),
  ).toBe('damaged_media')
})

test('agrees with Node on large texts, whatever the pieces', async () => {
  const bytes = Buffer.alloc(700_001, 'the bytes of a picture')
  const text = Buffer.from(bytes.toString('base64'))
  for (const size of [65_536, 65_537, 262_143, 262_144, 1_000_000]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.subarray(at * size, (at + 1) * size),
    )
    expect((await decode(pieces)) as Buffer).toEqual(bytes)
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

test.each([393_216, 786_432])(
  'the last bytes behind %i, which fill their blocks, are not lost',
  async (full) => {
    for (const more of [1, 2]) {
      const bytes = Buffer.alloc(full + more, 'the bytes of a picture')
      const text = bytes.toString('base64')
      expect((await decode([Buffer.from(text)])) as Buffer).toEqual(bytes)
      expect((await decode([Buffer.from(text.replaceAll('=', ''))])) as Buffer).toEqual(bytes)
    }
  },
)

test('what is larger than the limit is refused before it is written, and what is as large is not', async () => {
  for (const [size, outcome] of [
    [400_000, 'written'],
    [400_001, 'reply_too_large'],
  ] as const) {
    let written = 0
    const decoder = createBase64Decoder(async ({ length }) => void (written += length), 400_000)
    const decoded = (async () => {
      await decoder.push(Buffer.from(Buffer.alloc(size).toString('base64')))
      await decoder.end()
      return 'written'
    })()
    expect(await decoded.catch((error: ContractError) => error.code)).toBe(outcome)
    expect(written).toBeLessThanOrEqual(400_000)
  }
})
