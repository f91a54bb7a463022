import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../json.ts'

/** Only where the wire has text, so that it cannot be taken for an object of the gateway. */
export interface MediaReference {
  readonly sha256: string
  readonly bytes: number
  /** What stands before the base64: `data:image/png;base64,`. */
  readonly prefix?: string
  /** Absolute; none for what came from standard input. */
  readonly path?: string
}

const mediaField = /^(?:data|image_url|file_data|url|result|b64_json|bytesBase64Encoded|encodedVideo)$/

/** What is shorter, and of no known file, is kept as it is. */
const minLength = 256

/** @param paths the files that have the media, by the SHA-256 of their bytes @param onMedia gets the bytes of each */
export function referToMedia<Value>(
  value: Value,
  paths: ReadonlyMap<string, string>,
  onMedia: (sha256: string, content: Buffer) => void = () => {},
): Value {
  return replaced(value, (text) => {
    if (typeof text !== 'string' || (text.length < minLength && paths.size === 0)) return undefined
    const [, prefix = '', data = ''] = /^(data:[^,]{0,200};base64,)?([\w+/-]+={0,2})$/.exec(text) ?? []
    if (data === '') return undefined
    const content = Buffer.from(data, 'base64')
    const sha256 = createHash('sha256').update(content).digest('hex')
    const path = paths.get(sha256)
    if (path === undefined && text.length < minLength) return undefined
    // Other forms of base64 would not come back as they were.
    if (content.toString('base64') !== data) return undefined
    onMedia(sha256, content)
    return {
      sha256,
      bytes: content.length,
      ...(prefix === '' ? {} : { prefix }),
      ...(path === undefined ? {} : { path }),
    } satisfies MediaReference
  })
}

export function referencesIn(value: unknown): MediaReference[] {
  const found: MediaReference[] = []
  replaced(value, (entry) => {
    if (isReference(entry)) found.push(entry)
    return undefined
  })
  return found
}

/** For references that have none. @param paths by SHA-256 */
export function nameFiles<Value>(value: Value, paths: ReadonlyMap<string, string>): Value {
  return replaced(value, (entry) => {
    const path = isReference(entry) && entry.path === undefined ? paths.get(entry.sha256) : undefined
    return path === undefined ? undefined : { ...(entry as MediaReference), path }
  })
}

/** @param contentOf gives bytes that have been checked */
export function restoreMedia<Value>(value: Value, contentOf: (reference: MediaReference) => Buffer): Value {
  return replaced(value, (entry) =>
    isReference(entry) ? `${entry.prefix ?? ''}${contentOf(entry).toString('base64')}` : undefined,
  )
}

function isReference(value: unknown): value is MediaReference {
  return isObject(value) && typeof value['sha256'] === 'string' && typeof value['bytes'] === 'number'
}

/** @param change undefined leaves a field of media as it is; all other objects are walked through */
function replaced<Value>(value: Value, change: (field: unknown) => unknown): Value {
  if (Array.isArray(value)) return value.map((entry: unknown) => replaced(entry, change)) as Value
  if (!isObject(value)) return value
  const entries = Object.entries(value as JsonObject).map(([name, field]) => {
    const changed = mediaField.test(name) ? change(field) : undefined
    return [name, changed === undefined ? replaced(field, change) : changed] as const
  })
  return Object.fromEntries(entries) as Value
}

/** Both alphabets, data URLs, white space and missing padding; undefined for any other text, and without bytes. */
export function decodeBase64(text: string): Buffer | undefined {
  const head = /^\s*data:[^,]{0,1024};\s*base64\s*,/i.exec(text)?.[0].length ?? 0
  const body = head === 0 ? text : text.slice(head)
  const end = body.indexOf('=')
  if (end !== -1 && !/^[=\s]*$/.test(body.slice(end))) return undefined
  const digits = (end === -1 ? body : body.slice(0, end)).replaceAll(/\s+/g, '')
  // Node's decoder skips invalid characters, so compare the length.
  const size = Math.floor((digits.length * 3) / 4)
  const bytes = Buffer.from(digits, 'base64')
  return size > 0 && bytes.length === size && digits.length % 4 !== 1 ? bytes : undefined
}
