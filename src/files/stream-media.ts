import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import { damagedMedia, isVerified, type MediaFile } from './media-file.ts'
import type { MediaKind } from './media-inspector.ts'

/**
 * Hands media to standard output as they come (`-o -`), nothing of them before the first bytes have shown that they
 * are such. What is found wrong at their end has been written by then. The path of the result is `-`.
 */
export function streamMedia<Facts>(
  { stdout }: Pick<Context, 'stdout'>,
  kind: MediaKind<Facts>,
): MediaFile<Facts> {
  const inspector = kind.createInspector()
  const hash = createHash('sha256')
  const waiting: Uint8Array[] = []
  let bytesWritten = 0

  async function pass() {
    for (const bytes of waiting.splice(0)) {
      stdout.write(bytes)
      hash.update(bytes)
      bytesWritten += bytes.length
    }
    if (stdout.needsDrain) await stdout.drain()
  }
  return {
    noun: kind.noun,
    async write(bytes) {
      // A copy, because the stream may hold it longer than whoever gives it.
      waiting.push(Buffer.from(bytes))
      if (inspector.add(bytes) !== undefined) await pass()
    },
    integrity: () => inspector.inspect().integrity,
    async done(isFramed = true) {
      const { mediaType, facts, integrity } = inspector.inspect()
      await pass()
      await stdout.drain()
      if (integrity.damage !== undefined) throw damagedMedia(kind.noun, integrity.damage, undefined)
      return {
        ...facts,
        path: '-',
        bytes: bytesWritten,
        sha256: hash.digest('hex'),
        mime_type: mediaType,
        verified: isVerified(integrity, isFramed),
      }
    },
    async keepDamaged() {
      waiting.length = 0
      return undefined
    },
    async drop() {
      waiting.length = 0
    },
  }
}
