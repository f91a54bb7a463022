import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { SavedImage } from '../../events/image.ts'
import { outputVersion } from '../../events/schema.ts'
import { imageKind } from '../../files/image-inspector.ts'
import type { Output } from '../../output/output.ts'
import type { ImageRequest, ExistingImage } from './image-request.ts'

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
  const inspector = imageKind.createInspector()
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(resolve(context.cwd, path)) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    inspector.add(chunk)
    bytes += chunk.length
  }
  const { mediaType, facts, integrity } = inspector.inspect()
  return {
    ...facts,
    path,
    bytes,
    sha256: hash.digest('hex'),
    mime_type: mediaType,
    revised_prompt: null,
    verified: integrity.state === 'whole',
  }
}
