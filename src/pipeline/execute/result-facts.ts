import { hash } from 'node:crypto'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { inspectAnyFile, type FileFacts } from '../../files/inspect-file.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'

export const fileTemplate = '{index}.{ext}'

function textType({ fields }: Pick<Instance, 'fields'>) {
  return fields['schema'] === undefined
    ? ({ extension: 'txt', mediaType: 'text/plain' } as const)
    : ({ extension: 'json', mediaType: 'application/json' } as const)
}

export function textName(instance: Pick<Instance, 'fields'>): string {
  return `1.${textType(instance).extension}`
}

/**
 * The facts of an image or a video, read from the file.
 * @param context its working directory is that of the file
 * @throws FileError for a file that cannot be read, or is not whole
 */
export async function mediaFacts(context: FileContext, name: string): Promise<OutputFacts> {
  const found = await inspectAnyFile(context, name).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'yes' }) : error
  })
  const { damage } = found.integrity
  if (damage === undefined) return factsOf(found, name)
  throw new FileError('file_changed', `${shownPath(name)} is damaged: ${damage}.`, { billed: 'yes' })
}

export function factsOf(
  { bytes, sha256, mediaType, width, height, seconds, credentials }: FileFacts,
  path: string,
): OutputFacts {
  return {
    path,
    sha256,
    bytes,
    media_type: mediaType ?? 'application/octet-stream',
    width,
    height,
    seconds,
    credentials,
  }
}

export function textFacts(instance: Pick<Instance, 'fields'>, content: Uint8Array): OutputFacts {
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
