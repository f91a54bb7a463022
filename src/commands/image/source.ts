import { basename, resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { extensionOf } from '../../files/file-extension.ts'
import { imageInfoHeadBytes, readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { describeInputFile } from '../../files/read-input-file.ts'
import { fileChunks } from '../../gateway/multipart/file-chunks.ts'
import { readStandardInputBytes } from '../shared/standard-input.ts'

/** A picture that will be uploaded, known by its own first bytes. */
export interface ImageSource {
  /** As it was given: a path, a URL, or `-`. */
  readonly label: string
  /** The flag that names it. */
  readonly flag: '--image' | '--mask'
  readonly fileName: string
  readonly bytes: number
  readonly mediaType: string
  /** Undefined for what is no picture that is known here. */
  readonly info: ImageInfo | undefined
  /** The bytes, from the beginning. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** More than any family takes: what is larger is refused before it is looked at. */
const maxSourceBytes = 1024 * 1024 * 1024
const longestShownUrl = 200

/**
 * Looks at what `--image` or `--mask` names: a file, `-` for standard input, or a URL, which is fetched.
 * @param fetchUrl gets the bytes of a URL, safely
 * @throws UsageError, FileError naming the flag
 */
export async function readImageSource(
  context: Context,
  flag: ImageSource['flag'],
  label: string,
  fetchUrl: (url: string) => Promise<Uint8Array>,
): Promise<ImageSource> {
  if (label === '-') return inMemory(flag, label, 'stdin', await readStandardInputBytes(context, `${flag} -`))
  if (isUrl(label)) {
    const shown = shownUrl(label)
    return inMemory(flag, shown, 'image', await fetched(`${flag} ${JSON.stringify(shown)}`, label, fetchUrl))
  }
  const file = await describeInputFile(context, label, {
    maxBytes: maxSourceBytes,
    headBytes: imageInfoHeadBytes,
  })
  if (file instanceof ModelgateError) {
    throw new ModelgateError(file.exit, file.code, `${flag}: ${file.message}`, file.facts)
  }
  const { content } = file
  if (content !== undefined) return inMemory(flag, label, basename(label), content)
  const path = resolve(context.cwd, label)
  return source(flag, label, basename(label), file.bytes, file.head, () => fileChunks(path))
}

/** Whether a source is no file but what an address holds. */
export function isUrl(label: string): boolean {
  return /^(?:https?|data):/i.test(label)
}

/** What cannot be fetched is a mistake in the call as long as another address would help. */
async function fetched(
  named: string,
  url: string,
  fetchUrl: (url: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  try {
    return await fetchUrl(url)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    const exit = error.exit === 'contract' || error.exit === 'rejected' ? 'usage' : error.exit
    const { hint: _, ...facts } = error.facts
    throw new ModelgateError(exit, error.code, `${named}: ${error.message}`, { ...facts, phase: 'input' })
  }
}

/** Without a password, a signature, or the content itself: messages and records are read by others. */
function shownUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url.slice(0, longestShownUrl)
  if (parsed.protocol === 'data:') return `${url.slice(0, url.indexOf(',') + 1).slice(0, longestShownUrl)}…`
  return `${parsed.origin}${parsed.pathname}`
}

function inMemory(flag: ImageSource['flag'], label: string, stem: string, content: Uint8Array): ImageSource {
  if (content.length === 0)
    throw new UsageError(`${flag} ${label}: there is nothing in it.`, { code: 'empty_file' })
  const mediaType = sniffMediaType(content.subarray(0, 4096)) ?? 'application/octet-stream'
  return source(flag, label, `${stem}.${extensionOf(mediaType)}`, content.length, content, () => [content])
}

function source(
  flag: ImageSource['flag'],
  label: string,
  fileName: string,
  bytes: number,
  head: Uint8Array,
  openBytes: ImageSource['open'],
): ImageSource {
  const mediaType = sniffMediaType(head.subarray(0, 4096)) ?? 'application/octet-stream'
  const info = readImageInfo(head.subarray(0, imageInfoHeadBytes))
  return { flag, label, fileName, bytes, mediaType, info, open: openBytes }
}
