import { basename } from 'node:path'
import type { FileContext } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import { objectOf, stringOf } from '../json.ts'
import { openAtomicFile } from './atomic-file.ts'
import type { ImageFacts } from './image-info.ts'
import { readInputFile } from './input-file.ts'
import type { SavedMedia } from './media-file.ts'
import { parseJson } from './parse-json.ts'

const sidecarVersion = 2

export interface ImageRecord {
  readonly command: string
  readonly model: string | null
  readonly prompt: string
  readonly revised_prompt: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  readonly request_id: string | null
  readonly usage: unknown
  readonly inputs: readonly InputDigest[]
  readonly output: SavedMedia<ImageFacts>
}

export interface InputDigest {
  readonly field: string
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** So that it never collides with that of `hero.webp`. */
export function sidecarPath(imagePath: string): string {
  return `${imagePath}.json`
}

/** Without `force` the record gets the next free name. Only the user may read it: it contains the prompt. */
export async function writeSidecar(
  context: FileContext,
  record: ImageRecord,
  { force, clean }: { readonly force: boolean; readonly clean: (json: string) => string },
): Promise<SavedFile> {
  const path = sidecarPath(record.output.path)
  const document = {
    version: sidecarVersion,
    generator: `modelgate ${__VERSION__}`,
    time: new Date(context.clock.now()).toISOString(),
    ...record,
    // The record and the image are in the same folder, so a relative name survives moving them.
    output: { ...record.output, path: basename(record.output.path) },
  }
  const file = await openAtomicFile(context, path, { force, numbered: true, mode: 0o600 })
  await file.write(clean(`${JSON.stringify(document, null, 2)}\n`))
  return { ...(await file.commit()), mime_type: 'application/json' }
}

export type StoredSidecar = NonNullable<Awaited<ReturnType<typeof readSidecar>>>

type TextField = 'time' | 'command' | 'model' | 'prompt' | 'revised_prompt' | 'request_id'

const maxSidecarBytes = 4 * 1024 * 1024

/** Undefined where there is none, or another file has its name. */
export async function readSidecar(context: Pick<FileContext, 'cwd' | 'clock' | 'signal'>, filePath: string) {
  const path = sidecarPath(filePath)
  const bytes = await readInputFile(context, path, { maxBytes: maxSidecarBytes, pipes: false })
  const { value } = Buffer.isBuffer(bytes) ? parseJson(bytes.toString('utf8')) : {}
  const record = objectOf(value)
  const sha256 = stringOf(objectOf(record['output'])['sha256'])
  if (sha256 === undefined || !stringOf(record['generator'])?.startsWith('modelgate ')) return undefined
  const texts = Object.entries(record).filter(([, field]) => typeof field === 'string')
  return { ...(Object.fromEntries(texts) as Partial<Record<TextField, string>>), path, sha256 }
}
