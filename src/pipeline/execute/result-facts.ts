import { createHash } from 'node:crypto'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'
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
 * The facts of an output, read from the file.
 * @param context its working directory is that of the file
 * @throws FileError for a file that cannot be read, or is not whole
 */
export async function factsOf(context: FileContext, instance: Instance, name: string): Promise<OutputFacts> {
  if (instance.lane === 'text') return textFacts(context, instance, name)
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

async function textFacts(context: FileContext, instance: Instance, name: string): Promise<OutputFacts> {
  const content = await readInputFile(context, name)
  if (content instanceof ModelgateError) throw content.amend({ billed: 'yes' })
  return {
    path: name,
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: content.length,
    media_type: textType(instance).mediaType,
    width: null,
    height: null,
    seconds: null,
    credentials: false,
  }
}
