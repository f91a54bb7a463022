import { expect, test } from 'vitest'
import { misreadPieces, splitReplies } from './split-replies.ts'

/** Cuts in three, at every place and a little behind it. */
function* cuttings(bytes: Buffer): Generator<readonly Uint8Array[]> {
  for (let first = 0; first <= bytes.length; first++) {
    for (const length of [1, 2, 3, 7]) {
      yield [bytes.subarray(0, first), bytes.subarray(first, first + length), bytes.subarray(first + length)]
    }
  }
}

test.for(splitReplies)('is read alike however it is cut in three: $name', async (reply) => {
  expect(await misreadPieces(reply, cuttings)).toEqual([])
})
