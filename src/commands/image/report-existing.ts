import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { SavedImage } from '../../contract/image-event.ts'
import { outputVersion } from '../../contract/output-event.ts'
import { imageInfoHeadBytes, readImageInfo } from '../../files/image-info.ts'
import type { Output } from '../../output/output.ts'
import type { ImageRequest } from './image-request.ts'
import type { ExistingImage } from './missing-images.ts'

/** Every image is there already (`--skip-existing`): reports them as if they had just been made, and sends nothing. */
export async function reportExisting(context: Context, request: ImageRequest, output: Output): Promise<void> {
  const { command, model } = request
  output.event({ type: 'start', version: outputVersion, command, model })
  const files = await describeExisting(context, request.existing)
  for (const { index, file } of files) output.event({ type: 'image-save', index, file })
  await output.end({
    version: outputVersion,
    command,
    model,
    files: files.map(({ file }) => file),
    usage: null,
    request_id: null,
    response: null,
    partials: [],
    links: [],
    failures: [],
    warnings: ['All files were there already; nothing was sent.'],
  })
}

/** What is known of images that were made earlier. */
export function describeExisting(
  context: Context,
  images: readonly ExistingImage[],
): Promise<{ index: number; file: SavedImage }[]> {
  return Promise.all(images.map(async ({ index, path }) => ({ index, file: await describe(context, path) })))
}

async function describe(context: Context, path: string): Promise<SavedImage> {
  const full = resolve(context.cwd, path)
  const handle = await open(full)
  const head = Buffer.alloc(imageInfoHeadBytes)
  const { bytesRead } = await handle.read(head, 0, head.length, 0)
  const { size } = await handle.stat()
  await handle.close()
  const info = readImageInfo(head.subarray(0, bytesRead))
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(full)) hash.update(chunk as Buffer)
  return {
    path,
    bytes: size,
    sha256: hash.digest('hex'),
    mime_type: info?.mediaType ?? 'application/octet-stream',
    format: info?.format ?? 'unknown',
    width: info?.width ?? null,
    height: info?.height ?? null,
    revised_prompt: null,
  }
}
