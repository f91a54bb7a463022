import { basename } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import { openAtomicFile } from './open-atomic-file.ts'
import { numberedName } from './file-name.ts'
import type { ImageFacts } from './image-inspector.ts'
import type { SavedMedia } from './media-file.ts'

/** Grows when a field is added; fields never go away. */
const sidecarVersion = 2

/** How an image was made, as far as the command knows. */
export interface ImageRecord {
  readonly command: string
  readonly model: string
  readonly prompt: string
  /** The prompt as the gateway changed it. */
  readonly revised_prompt: string | null
  /** The fields of the request, in the specification's words, without prompt, model and files. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly request_id: string | null
  /** As the gateway sent it. */
  readonly usage: unknown
  /** The images that were sent along. */
  readonly inputs: readonly InputDigest[]
  readonly output: SavedMedia<ImageFacts>
}

export interface InputDigest {
  /** The field of the request: `image` or `mask`. */
  readonly field: string
  /** As it was given; standard input is `-`. */
  readonly path: string
  readonly bytes: number
  /** Of the content, in hexadecimal. */
  readonly sha256: string
}

/** The record of `hero.png` is `hero.png.json`, so that it never meets the one of `hero.webp`. */
export function sidecarPath(imagePath: string): string {
  return `${imagePath}.json`
}

/**
 * Writes the record of an image beside it. Without `force` a record that is there already stays, and the new one gets
 * the next free name: the image is saved by now. Only the user may read it: it holds the prompt.
 * @param options.clean takes secrets out of the JSON that is written
 * @throws as `openAtomicFile` does
 */
export async function writeSidecar(
  context: Context,
  record: ImageRecord,
  { force, clean }: { readonly force: boolean; readonly clean: (json: string) => string },
): Promise<SavedFile> {
  const path = sidecarPath(record.output.path)
  const document = {
    version: sidecarVersion,
    generator: `modelgate ${__VERSION__}`,
    time: new Date(context.clock.now()).toISOString(),
    ...record,
    // The record moves together with its image.
    output: { ...record.output, path: basename(record.output.path) },
  }
  const spareName = (count: number) => numberedName(basename(path), count)
  const file = await openAtomicFile(context, path, { force, spareName, mode: 0o600 })
  await file.write(clean(`${JSON.stringify(document, null, 2)}\n`))
  return { ...(await file.commit()), mime_type: 'application/json' }
}
