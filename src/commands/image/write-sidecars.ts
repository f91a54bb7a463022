import { createHash } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { SavedImage } from '../../contract/image-event.ts'
import { ModelgateError } from '../../errors.ts'
import { writeSidecar, type InputDigest } from '../../files/sidecar.ts'
import type { ImageRequest } from './image-request.ts'
import type { ImageSource } from './source.ts'

interface SidecarFacts {
  readonly requestId: string | null
  readonly usage: unknown
  readonly inputs: readonly InputDigest[]
  readonly force: boolean
  readonly warn: (message: string) => void
  /** Takes secrets out of the JSON that is written. */
  readonly clean: (json: string) => string
}

/** What the pictures that go along are. To be asked before the images come: these may replace them. */
export function digestSources({ images, mask }: ImageRequest): Promise<InputDigest[]> {
  return Promise.all([...images, ...(mask === undefined ? [] : [mask])].map(digest))
}

/**
 * Writes how each image was made beside it (`--sidecar`): enough to make it again, and to know it again. A record that
 * cannot be written is a warning: the image is there.
 */
export async function writeSidecars(
  context: Context,
  request: ImageRequest,
  files: readonly SavedImage[],
  { requestId, usage, inputs, force, warn, clean }: SidecarFacts,
): Promise<void> {
  const { prompt: _, model: __, ...parameters } = request.body
  for (const { revised_prompt, ...output } of files) {
    const record = {
      command: request.command,
      model: request.model,
      prompt: request.prompt,
      revised_prompt,
      parameters,
      request_id: requestId,
      usage: usage ?? null,
      inputs,
      output,
    }
    await writeSidecar(context, record, { force, clean }).catch((error: unknown) => {
      if (!(error instanceof ModelgateError)) throw error
      warn(`The record of ${output.path} is not kept: ${error.message}`)
    })
  }
}

async function digest(source: ImageSource): Promise<InputDigest> {
  const hash = createHash('sha256')
  for await (const chunk of source.open()) hash.update(chunk)
  return { field: source.flag.slice(2), path: source.label, bytes: source.bytes, sha256: hash.digest('hex') }
}
