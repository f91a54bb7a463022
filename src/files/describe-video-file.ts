import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../contract/video-event.ts'
import { videoKind } from './video-info.ts'

/**
 * A video that is there already, as it was described when it was saved; undefined for anything else, for a damaged one,
 * and for none. `verified` tells what its container alone does.
 */
export async function describeVideoFile(
  { cwd }: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const inspector = videoKind.createInspector()
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of createReadStream(resolve(cwd, path), {
      highWaterMark: 1 << 20,
    }) as AsyncIterable<Buffer>) {
      inspector.add(chunk)
      hash.update(chunk)
      bytes += chunk.length
    }
    const { mediaType, facts, integrity } = inspector.inspect()
    if (integrity.damage !== undefined) return undefined
    const verified = integrity.state === 'whole'
    return { ...facts, path, bytes, sha256: hash.digest('hex'), mime_type: mediaType, verified }
  } catch {
    return undefined
  }
}
