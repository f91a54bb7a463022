import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { FileContext } from '../../context.ts'
import { extensionOf } from '../../files/media-type.ts'
import { openAtomicFile, type WriteOptions } from '../../files/atomic-file.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isDeeperThan, maxJsonDepth, objectOf } from '../../json.ts'
import { requestSchema } from './recorded-request.ts'

/** Beside the recordings. */
const bodiesFolder = 'bodies'
/** Of a body, or an event of a stream; a larger one gets a file of its own. */
const maxInlineBytes = 64 * 1024
const maxRecordingBytes = 64 * 1024 * 1024

const milliseconds = v.pipe(v.number(), v.minValue(0))
const ownText = { text: v.string() }
const ownFile = {
  // Only such names are ever opened, so that a recording cannot reach other files.
  file: v.pipe(v.string(), v.regex(/^bodies\/[\da-f]{64}\.[\da-z]{1,8}$/, 'is not the name of a body')),
  bytes: v.pipe(v.number(), v.integer(), v.minValue(0)),
}

/** Of JSON, as 0.1.0 recorded it; it is compact now. */
const layout = v.optional(v.string())

/** An event as it came; `ms` counts from the request. 0.1.0 recorded its fields, which are easier to write by hand. */
const eventSchema = v.union([
  v.strictObject({ ms: milliseconds, ...ownText }),
  v.strictObject({ ms: milliseconds, ...ownFile }),
  v.pipe(
    v.strictObject({
      ms: milliseconds,
      event: v.optional(v.pipe(v.string(), v.regex(/^[^\r\n]*$/))),
      layout,
      lines: v.optional(v.literal('crlf')),
      data: v.unknown(),
    }),
    v.transform(({ ms, event, lines, data }) => {
      const end = lines === undefined ? '\n' : '\r\n'
      const name = event === undefined ? '' : `event: ${event}${end}`
      return { ms, text: `${name}data: ${JSON.stringify(data)}${end}${end}` }
    }),
  ),
])

const bodySchema = v.union([
  v.strictObject(ownText),
  v.strictObject(ownFile),
  v.strictObject({ events: v.array(eventSchema) }),
  v.pipe(
    v.strictObject({ json: v.unknown(), layout }),
    v.transform(({ json }) => ({ text: JSON.stringify(json) })),
  ),
])

/** Others cannot be sent again as they were. */
export const headerValue = /^[\t\x20-\x7e]*$/

const replySchema = v.object({
  status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(999)),
  headers: v.optional(
    v.record(
      v.pipe(v.string(), v.regex(/^[a-z\d-]+$/, 'is not the name of a header')),
      v.pipe(v.string(), v.regex(headerValue, 'is not the value of a header')),
    ),
    {},
  ),
  /** Since the request. */
  after_ms: v.optional(milliseconds, 0),
  /** By the gateway. */
  broken_off: v.optional(v.boolean(), false),
  body: v.optional(bodySchema),
})

const format = 'modelgate-recording-1'

const recordingSchema = v.object({
  format: v.literal(format, `must be ${format}`),
  recorded: v.pipe(v.string(), v.isoTimestamp('is not a time such as 2026-11-22T06:10:57.123Z')),
  request: requestSchema,
  reply: replySchema,
})

export type Recording = v.InferOutput<typeof recordingSchema>
export type RecordedReply = Recording['reply']
export type RecordedBody = NonNullable<RecordedReply['body']>
export type RecordedEvent = v.InferOutput<typeof eventSchema>
type OwnFile = Extract<RecordedBody, { file: string }>

/** A recording, or a body of one, that cannot be used. The message names the file and never quotes it. */
export class DamagedRecording extends Error {
  override readonly name = 'DamagedRecording'
}

/** @throws DamagedRecording */
export async function readRecording(folder: string, name: string): Promise<Recording> {
  const damaged = (problem: string) => new DamagedRecording(`${name} ${problem}`)
  const bytes = await fileOf(folder, name, (size) => size <= maxRecordingBytes)
  let value: unknown
  try {
    const text = bytes.toString('utf8').replace(/^\ufeff/, '')
    // Numbers of a reply come back as they were written; a request is compared.
    value = { ...objectOf(parseExactly(text)), request: objectOf(JSON.parse(text))['request'] }
  } catch {
    throw damaged('is not valid JSON.')
  }
  if (isDeeperThan(value, maxJsonDepth)) throw damaged('is nested too deeply.')
  const { success, output, issues } = v.safeParse(recordingSchema, value)
  if (success) return output
  const [issue] = issues
  throw damaged(
    `is not a recording: ${v.getDotPath(issue) ?? 'it'}: ${issue.message.replace(/ but received .*/s, '')}.`,
  )
}

async function fileOf(folder: string, name: string, isRight: (size: number) => boolean): Promise<Buffer> {
  const path = join(folder, name)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() && isRight(found.size)) return readFile(path)
  throw new DamagedRecording(`${name} cannot be read, or has not the size of a recorded one.`)
}

/** Newer than TypeScript's library: numbers as they were written. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown

/** Parses JSON; a number that JavaScript would write differently (`1.0`) stays as it is. */
function parseExactly(text: string): unknown {
  return parseWith(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  )
}

const indentedEvent = /\{\n +"ms": \d+,(?:\n +"(?:text|file|bytes)": (?:".*"|\d+),?)+\n +\}/g

/** Indented, with each event of a stream on a line of its own. @throws Error when it is too large */
export function recordingText({ request, reply, ...head }: Omit<Recording, 'format'>): string {
  const shown = { ...reply, broken_off: reply.broken_off || undefined }
  const text = JSON.stringify({ format, ...head, request, reply: shown }, null, 2)
  if (text.length > maxRecordingBytes / 2) throw new Error('it is too large')
  return `${text.replace(indentedEvent, (event) => JSON.stringify(JSON.parse(event)))}\n`
}

/** Nothing is overwritten, also when several recorders write at once. */
export async function writeRecording(context: FileContext, path: string, text: string): Promise<void> {
  await save(context, `${path}.json`, text, { force: false, numbered: true })
}

/** How bytes are recorded: as text, or in a file that is named by its SHA-256. */
export async function storeBytes(
  context: FileContext,
  folder: string,
  bytes: Uint8Array,
  mediaType: string,
): Promise<{ text: string } | OwnFile> {
  if (bytes.length <= maxInlineBytes && isUtf8(bytes)) return { text: Buffer.from(bytes).toString('utf8') }
  await makeFolder(join(folder, bodiesFolder))
  const file = `${bodiesFolder}/${hash('sha256', bytes)}.${extensionOf(mediaType)}`
  await save(context, join(folder, file), bytes, { force: true })
  return { file, bytes: bytes.length }
}

async function save(context: FileContext, path: string, content: string | Uint8Array, options: WriteOptions) {
  const file = await openAtomicFile(context, path, options)
  await file.write(content)
  await file.commit()
}

/** @throws DamagedRecording for a file of another size, or another digest than its name says */
export async function recordedBytes(folder: string, part: { text: string } | OwnFile): Promise<Buffer> {
  if ('text' in part) return Buffer.from(part.text)
  const { file, bytes: size } = part
  const bytes = await fileOf(folder, file, (length) => length === size)
  if (!file.includes(`/${hash('sha256', bytes)}.`)) throw new DamagedRecording(`${file} has another digest.`)
  return bytes
}
