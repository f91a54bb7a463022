import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../contract/video-event.ts'
import { createVideoInspector, videoMediaTypes } from './video-info.ts'

/** A video that is there already, as it was described when it was saved; undefined for anything else, or none. */
export async function describeVideoFile(
  { cwd }: Pick<Context, 'cwd'>,
  path: string,
): Promise<SavedVideo | undefined> {
  const inspector = createVideoInspector()
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
    const { format, width, height, seconds } = inspector.finish()
    const sha256 = hash.digest('hex')
    return { path, bytes, sha256, mime_type: videoMediaTypes[format], format, width, height, seconds }
  } catch {
    return undefined
  }
}
