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
  readonly bytes: number
  /** Absolute; none for standard input. */
  readonly path?: string
  base64(): string
  /** Of its content, in hexadecimal. */
  sha256(): Promise<string>
}

/** A URL that the gateway fetches. */
interface UrlAttachment {
  readonly kind: 'url'
  readonly url: string
  /** From the extension. */
  readonly mediaType: string | undefined
}

export type Attachment = FileAttachment | UrlAttachment

const fileUrl = /^file:\/\//i
/** A single letter is a Windows drive. */
const otherUrl = /^(?:[a-z][a-z\d+.-]+:\/\/|data:[^,]*,)/i

/** Reads a file by its path or `file:` URL; another URL (http, https, gs) is passed on and not fetched. @throws UsageError, FileError */
export async function readAttachment(context: FileContext, location: string): Promise<Attachment> {
  if (/^(?:https?|gs):/i.test(location)) return urlAttachment(location)
  if (otherUrl.test(location) && !fileUrl.test(location)) throw urlNotTaken(location)
  const path = fileUrl.test(location) ? pathOf(location) : location
  const content = await readInputFile(context, path)
  if (content instanceof ModelgateError) throw content
  return { ...fileAttachment(basename(path), content), path: resolve(context.cwd, path) }
}

export function attachBytes(stem: string, content: Buffer): Attachment {
  const { mediaType } = fileAttachment('', content)
  return fileAttachment(`${stem}.${extensionOf(mediaType)}`, content)
}

function fileAttachment(name: string, content: Buffer): FileAttachment {
  const mediaType = refineZip(sniffMediaType(content.subarray(0, 4096)) ?? 'application/octet-stream', name)
  return {
    kind: 'file',
    name,
    mediaType,
    bytes: content.length,
    base64: () => content.toString('base64'),
    async sha256() {
      const { createHash } = await import('node:crypto')
      return createHash('sha256').update(content).digest('hex')
    },
  }
}

function urlAttachment(url: string): UrlAttachment {
  const parsed = URL.parse(url)
  if (parsed === null || parsed.hostname === '') {
    throw new UsageError(`${JSON.stringify(url.slice(0, 100))} is not a valid URL.`, {
      code: 'invalid_request',
    })
  }
  return { kind: 'url', url, mediaType: mediaTypeOfName(parsed.pathname) }
}

function urlNotTaken(url: string): UsageError {
  return new UsageError(`${JSON.stringify(url.slice(0, 100))} is not a kind of URL that can be attached.`, {
    code: 'invalid_request',
    hint: 'The gateway fetches https:, http: or gs: URLs; file: URLs and paths are read here. Download it first.',
  })
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (cause) {
    throw new UsageError(`${JSON.stringify(url.slice(0, 100))} is not a valid file URL.`, {
      code: 'invalid_request',
      cause,
    })
  }
}
