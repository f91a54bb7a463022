import { expect, test } from 'vitest'
import { misreadPieces, splitReplies } from './split-replies.ts'

/** Cuts in two at every place, and into single bytes. */
function* cuttings(bytes: Buffer): Generator<readonly Uint8Array[]> {
  yield [...bytes].map((byte) => Uint8Array.of(byte))
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

test.for(splitReplies)('is read alike however it is cut in two: $name', async (reply) => {
  expect(await misreadPieces(reply, cuttings)).toEqual([])
})
