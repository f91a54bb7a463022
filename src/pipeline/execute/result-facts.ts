import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'

/** The names of images and videos in the folder of a task. */
export const fileTemplate = '{index}.{ext}'

/** What the fields of an instance say of its text. */
function textType({ fields }: Instance) {
  return fields['schema'] === undefined
    ? ({ extension: 'txt', mediaType: 'text/plain' } as const)
    : ({ extension: 'json', mediaType: 'application/json' } as const)
}

/** The name of a text in the folder of its task. */
export function textName(instance: Instance): string {
  return `1.${textType(instance).extension}`
}

/**
 * The facts of an image or a video, read from the file.
 * @param context its working directory is that of the file
 * @throws FileError for a file that cannot be read, or is not whole
 */
export async function mediaFacts(context: FileContext, name: string): Promise<OutputFacts> {
  const { bytes, sha256, mediaType, media, integrity, credentials } = await inspectAnyFile(context, name)
  if (integrity.damage !== undefined) {
    throw new FileError('file_changed', `${shownPath(name)} is damaged: ${integrity.damage}.`, {
      billed: 'yes',
    })
  }
  return {
    path: name,
    sha256,
    bytes,
    media_type: mediaType ?? 'application/octet-stream',
    width: media?.width ?? null,
    height: media?.height ?? null,
    seconds: media !== undefined && 'seconds' in media ? media.seconds : null,
    credentials: typeof credentials === 'object',
  }
}

/** The facts of the text of an instance. */
export function textFacts(instance: Instance, content: Uint8Array): OutputFacts {
  return {
    path: textName(instance),
    sha256: hash('sha256', content),
    bytes: content.length,
    media_type: textType(instance).mediaType,
    width: null,
    height: null,
    seconds: null,
    credentials: false,
  }
}

/**
 * Writes a small file at once, which is faster than in another thread, and does not wait for the disk: only the record of
 * a result tells whether it is whole.
 * @throws the error of the system
 */
export function writeAtOnce(folder: string, name: string, content: string | Uint8Array): void {
  writeFileSync(join(folder, name), content, { mode: 0o600 })
}
