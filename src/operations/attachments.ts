import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FileContext } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { extensionOf, mediaTypeOfName, refineZip, sniffMediaType } from '../files/media-type.ts'
import { readInputFile } from '../files/input-file.ts'

interface FileAttachment {
  readonly kind: 'file'
  /** `stdin.png` and the like for standard input. */
  readonly name: string
  /** From its bytes. */
  readonly mediaType: string
  readonly content: Buffer
  /** Absolute; none for standard input. */
  readonly path?: string
}

/** A URL that the gateway fetches; its type is that of the extension. */
interface UrlAttachment {
  readonly kind: 'url'
  readonly url: string
  readonly mediaType: string | undefined
}

export type Attachment = FileAttachment | UrlAttachment

/** Reads a file by its path or `file:` URL; another URL (http, https, gs) is passed on and not fetched. @throws UsageError, FileError */
export async function readAttachment(context: FileContext, location: string): Promise<Attachment> {
  if (/^(?:https?|gs):/i.test(location)) {
    const { hostname = '', pathname = '' } = URL.parse(location) ?? {}
    if (hostname === '') throw refused(location, 'is not a valid URL')
    return { kind: 'url', url: location, mediaType: mediaTypeOfName(pathname) }
  }
  const isFileUrl = /^file:\/\//i.test(location)
  // A single letter is a Windows drive.
  if (!isFileUrl && /^(?:[a-z][a-z\d+.-]+:\/\/|data:[^,]*,)/i.test(location)) {
    const hint =
      'The gateway fetches https:, http: or gs: URLs; file: URLs and paths are read here. Download it first.'
    throw refused(location, 'is not a kind of URL that can be attached', { hint })
  }
  const path = isFileUrl ? pathOf(location) : location
  const content = await readInputFile(context, path)
  if (content instanceof ModelgateError) throw content
  const name = basename(path)
  return { kind: 'file', name, mediaType: typeOf(content, name), content, path: resolve(context.cwd, path) }
}

export function attachBytes(stem: string, content: Buffer): Attachment {
  const mediaType = typeOf(content, '')
  return { kind: 'file', name: `${stem}.${extensionOf(mediaType)}`, mediaType, content }
}

function typeOf(content: Buffer, name: string): string {
  return refineZip(sniffMediaType(content.subarray(0, 4096)) ?? 'application/octet-stream', name)
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (cause) {
    throw refused(url, 'is not a valid file URL', { cause })
  }
}

function refused(url: string, reason: string, facts: { hint?: string; cause?: unknown } = {}): UsageError {
  const message = `${JSON.stringify(url.slice(0, 100))} ${reason}.`
  return new UsageError(message, { code: 'invalid_request', ...facts })
}
