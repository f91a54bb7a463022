import { hash } from 'node:crypto'
import * as v from 'valibot'
import { isDeeperThan, maxJsonDepth } from '../../json.ts'
import { canonicalJson, isObject, jsonIn } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'

const sha256 = v.pipe(v.string(), v.regex(/^[\da-f]{64}$/, 'is not a SHA-256 in hexadecimal'))
const byteCount = v.pipe(v.number(), v.integer(), v.minValue(0))

const formPartSchema = v.object({
  name: v.string(),
  /** Of a field; long ones as `sha256:… (N characters)`. */
  value: v.optional(v.string()),
  /** Of a file. */
  sha256: v.optional(sha256),
  bytes: v.optional(byteCount),
})

/** A request in the form that is recorded and compared: all that matters, in one order, and nothing secret. */
export const requestSchema = v.object({
  method: v.picklist(['GET', 'POST', 'DELETE']),
  /** With the query, sorted and without keys. */
  path: v.pipe(v.string(), v.startsWith('/')),
  headers: v.optional(v.record(v.string(), v.string()), {}),
  body: v.optional(
    v.union([
      /** Names sorted; long strings as `sha256:… (N characters)`. */
      v.strictObject({ json: v.unknown() }),
      v.strictObject({ form: v.array(formPartSchema) }),
      v.strictObject({ sha256, bytes: byteCount }),
    ]),
  ),
})

export type RecordedRequest = v.InferOutput<typeof requestSchema>
type RequestBody = NonNullable<RecordedRequest['body']>
type FormPart = v.InferOutput<typeof formPartSchema>

/** Of a request, only these headers are recorded. `range` is compared, too. */
const keptHeaders = ['accept', 'content-type', 'range'] as const

/** In a query, as public practice has them. */
const secretNames = /^(?:key|api[-_]?key|access[-_]?token)$/i

/** Longer strings, forms of more parts, and bodies of more text are recorded as their digest. */
const [maxStringLength, maxParts, maxJsonLength] = [4096, 1000, 1024 * 1024]

/** Describes a request. The boundary of a form, the order of JSON names, and white space make no difference. */
export function describeRequest(
  method: string,
  { path, query, headers }: Pick<Exchange, 'path' | 'query' | 'headers'>,
  body: Uint8Array,
): RecordedRequest {
  const kept = keptHeaders.flatMap((name) => {
    const value = headers[name]
    // The boundary of a form is different each time.
    return value ? [[name, value.replace(/;\s*boundary=.*$/i, '')]] : []
  })
  const plainQuery = new URLSearchParams([...query].filter(([name]) => !secretNames.test(name)))
  plainQuery.sort()
  return {
    method: method as RecordedRequest['method'],
    path: plainQuery.size === 0 ? path : `${path}?${plainQuery}`,
    headers: Object.fromEntries(kept) as Record<string, string>,
    ...(body.length > 0 && { body: describeBody(body, headers['content-type'] ?? '') }),
  }
}

function describeBody(body: Uint8Array, type: string): RequestBody {
  const whole = { sha256: hash('sha256', body), bytes: body.length }
  if (/^multipart\//i.test(type)) return describeForm(body, type) ?? whole
  const value = jsonIn(body)
  if (value === undefined || isDeeperThan(value, maxJsonDepth)) return whole
  const json = canonical(value)
  return JSON.stringify(json).length > maxJsonLength ? whole : { json }
}

function canonical(value: unknown): unknown {
  return JSON.parse(canonicalJson(value), (_, inner: unknown) =>
    typeof inner === 'string' ? shortened(inner) : inner,
  )
}

function shortened(text: string): string {
  return text.length <= maxStringLength ? text : `sha256:${hash('sha256', text)} (${text.length} characters)`
}

/** The parts of a form by name; those of one name stay in their order. Undefined for what cannot be parsed. */
function describeForm(body: Uint8Array, contentType: string): RequestBody | undefined {
  const [, boundary = ''] = /;\s*boundary="?([^";]+)/i.exec(contentType) ?? []
  const pieces = `\r\n${Buffer.from(body).toString('latin1')}`.split(`\r\n--${boundary}`)
  if (boundary === '' || pieces.length < 3 || pieces.length > maxParts) return undefined
  const parts = pieces.slice(1, -1).map((piece): FormPart => {
    const end = piece.indexOf('\r\n\r\n')
    const head = Buffer.from(piece.slice(0, end), 'latin1').toString('utf8')
    const [, name = ''] = /[;\s]name="([^"]*)"/i.exec(head) ?? []
    const bytes = Buffer.from(piece.slice(end + 4), 'latin1')
    const isFile = /[;\s]filename\*?=/i.test(head)
    return isFile
      ? { name, sha256: hash('sha256', bytes), bytes: bytes.length }
      : { name, value: shortened(bytes.toString('utf8')) }
  })
  return {
    form: parts.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)),
  }
}

/** What has to be the same in a request and a recording for one to answer the other. */
function comparable({ method, path, headers, body }: RecordedRequest) {
  const [plainPath = '', query = ''] = path.split('?')
  const range = headers['range'] ?? ''
  return { method, path: plainPath, query, 'header range': range, body: comparableBody(body) }
}

function comparableBody(body: RequestBody | undefined): unknown {
  if (body === undefined) return null
  if ('json' in body) return canonical(body.json)
  if (!('form' in body)) return body.sha256
  const values = Map.groupBy(body.form, ({ name }) => name)
  const valuesOf = (parts: readonly FormPart[]) =>
    JSON.stringify(parts.map(({ value, sha256: digestOfFile }) => [value ?? null, digestOfFile ?? null]))
  return Object.fromEntries([...values].map(([name, parts]) => [name, valuesOf(parts)]))
}

export function keyOf(request: RecordedRequest): string {
  return hash('sha256', JSON.stringify(comparable(request)))
}

const maxDifferences = 100

/** Where two requests differ: in `path` or `query`, or in fields of the body such as `input[0].content`. */
export function differences(one: RecordedRequest, other: RecordedRequest): string[] {
  return differingPlaces(comparable(one), comparable(other), '')
    .take(maxDifferences)
    .map((place) => place.replace(/^body\.?(?=.)/, ''))
    .toArray()
}

function* differingPlaces(one: unknown, other: unknown, path: string): Generator<string> {
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    for (const [index, entry] of one.entries())
      yield* differingPlaces(entry, other[index], `${path}[${index}]`)
  } else if (isObject(one) && isObject(other)) {
    for (const name of Object.keys({ ...one, ...other })) {
      const at = path === '' ? name : `${path}.${name}`
      if (Object.hasOwn(one, name) && Object.hasOwn(other, name)) {
        yield* differingPlaces(one[name], other[name], at)
      } else yield at
    }
  } else if (JSON.stringify(one) !== JSON.stringify(other)) yield path
}
