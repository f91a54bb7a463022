import { isUtf8 } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { FileContext } from '../../context.ts'
import { digestWriter, removeLeftovers } from '../../files/atomic-file.ts'
import { extensionOf } from '../../files/media-type.ts'
import { numberedName } from '../../files/file-name.ts'
import { openAtomicFile } from '../../files/open-atomic-file.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isDeeperThan, maxJsonDepth, objectOf } from '../../json.ts'
import { eventFields, eventText, layOut, layouts, parseExactly, writeJson } from './event-stream.ts'
import { requestSchema } from './recorded-request.ts'

/** The folder beside the recordings for bodies that are binary or large, each named by its SHA-256. */
const bodiesFolder = 'bodies'
/** A larger body, or event of a stream, gets a file of its own. */
const maxInlineBytes = 64 * 1024
/** Maximum size of a recording without its bodies. */
const maxRecordingBytes = 64 * 1024 * 1024

const milliseconds = v.pipe(v.number(), v.minValue(0))
/** Only such names are ever opened, so that a recording cannot reach other files. */
const bodyFile = v.pipe(
  v.string(),
  v.regex(/^bodies\/[\da-f]{64}\.[\da-z]{1,8}$/, 'is not the name of a body'),
)
const jsonBody = { json: v.unknown(), layout: v.optional(v.picklist(layouts)) }
const ownFile = { file: bodyFile, bytes: v.pipe(v.number(), v.integer(), v.minValue(0)) }

/** An event: its fields, or its text where these cannot express it exactly. `ms` counts from the request. */
const eventSchema = v.union([
  v.strictObject({
    ms: milliseconds,
    event: v.optional(v.pipe(v.string(), v.regex(/^[^\r\n]*$/))),
    layout: v.optional(v.picklist(layouts)),
    lines: v.optional(v.literal('crlf')),
    data: v.unknown(),
  }),
  v.strictObject({ ms: milliseconds, text: v.string() }),
  v.strictObject({ ms: milliseconds, ...ownFile }),
])

const bodySchema = v.union([
  v.strictObject({ text: v.string() }),
  v.strictObject(ownFile),
  v.strictObject({ events: v.array(eventSchema) }),
  v.strictObject(jsonBody),
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
  /** From the request to the headers of the reply. */
  after_ms: v.optional(milliseconds, 0),
  /** Whether the gateway's connection broke before the end of the reply. */
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

/** One call: a request, and the reply that came. */
export type Recording = v.InferOutput<typeof recordingSchema>
export type RecordedReply = Recording['reply']
export type RecordedBody = NonNullable<RecordedReply['body']>
export type RecordedEvent = v.InferOutput<typeof eventSchema>

/** A recording, or a body of one, that cannot be used. The message names the file and never quotes it. */
export class DamagedRecording extends Error {
  override readonly name = 'DamagedRecording'
}

/**
 * Reads a recording.
 * @param name of the file in the folder
 * @throws DamagedRecording
 */
export async function readRecording(folder: string, name: string): Promise<Recording> {
  const damaged = (problem: string) => new DamagedRecording(`${name} ${problem}`)
  const path = join(folder, name)
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw damaged('cannot be read.')
  if (found.size > maxRecordingBytes) throw damaged(`is larger than ${maxRecordingBytes} bytes.`)
  let value: unknown
  try {
    const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
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

/**
 * Writes a recording under the first free name; nothing is overwritten, also when several recorders write at once.
 * @param stem of the name, without extension
 * @returns the name
 */
export async function writeRecording(
  context: FileContext,
  folder: string,
  stem: string,
  recording: Omit<Recording, 'format'>,
): Promise<string> {
  const text = textOf({ format, ...recording })
  if (text.length > maxRecordingBytes / 2) throw new Error('it is too large')
  const name = `${stem}.json`
  const spareName = (count: number) => numberedName(name, count)
  const file = await openAtomicFile(context, join(folder, name), { force: false, spareName })
  await file.write(text)
  const { path } = await file.commit()
  return path.slice(folder.length + 1)
}

/** Indented, with each event of a stream on a line of its own; the events are the last of a recording. */
function textOf({ request, reply, ...head }: Recording): string {
  const { body, broken_off: isBrokenOff, ...facts } = reply
  const broken = isBrokenOff && { broken_off: true }
  const whole = { ...head, request, reply: { ...facts, ...broken, ...(body !== undefined && { body }) } }
  if (body === undefined || !('events' in body) || body.events.length === 0) {
    return `${JSON.stringify(whole, null, 2)}\n`
  }
  const empty = JSON.stringify({ ...whole, reply: { ...whole.reply, body: { events: [] } } }, null, 2)
  const lines = body.events.map((event) => `        ${writeJson(event, 'spaced-lists')}`)
  return `${empty.slice(0, empty.lastIndexOf('[]'))}[\n${lines.join(',\n')}\n      ]\n    }\n  }\n}\n`
}

/**
 * A body while it arrives: in memory up to a size, then in a file.
 * @param mediaType determines the extension of the file
 */
export function createBodyKeeper(
  folder: string,
  mediaType: string,
  now: number,
  isInline: (bytes: Uint8Array) => boolean = isUtf8,
) {
  const chunks: Uint8Array[] = []
  let size = 0
  let spill: Awaited<ReturnType<typeof openSpill>> | undefined
  const spillOver = async () => {
    spill = await openSpill(join(folder, bodiesFolder), now)
    for (const chunk of chunks.splice(0)) await spill.writer.write(chunk)
  }
  return {
    /** @throws FileError and errors of the system */
    async write(chunk: Uint8Array) {
      size += chunk.length
      if (spill === undefined) chunks.push(chunk)
      else await spill.writer.write(chunk)
      if (spill === undefined && size > maxInlineBytes) await spillOver()
    },
    /** How it is recorded; undefined for an empty one. The last call but `discard`. */
    async finish(): Promise<RecordedBody | undefined> {
      if (size === 0) return undefined
      const bytes = Buffer.concat(chunks)
      if (spill === undefined && isInline(bytes)) {
        const text = bytes.toString('utf8')
        const laidOut = layOut(text)
        if (laidOut === undefined) return { text }
        const { json, layout } = laidOut
        return { ...(layout !== 'compact' && { layout }), json }
      }
      if (spill === undefined) await spillOver()
      const name = await spill!.place(extensionOf(mediaType))
      return { file: `${bodiesFolder}/${name}`, bytes: size }
    },
    /** Removes what is not finished. Never throws. */
    discard: async () => spill?.discard(),
  }
}

/** A file for a body whose digest, and so whose name, is known at its end. */
async function openSpill(folder: string, now: number) {
  await makeFolder(folder)
  await removeLeftovers(folder, now)
  const temporary = join(folder, `.body.${randomBytes(8).toString('hex')}.mgpart`)
  let handle: FileHandle | undefined = await open(temporary, 'wx')
  const writer = digestWriter(handle)
  return {
    writer,
    async place(extension: string): Promise<string> {
      const name = `${writer.finish().sha256}.${extension}`
      await handle?.sync()
      await handle?.close()
      await rename(temporary, join(folder, name))
      handle = undefined
      return name
    },
    async discard() {
      if (handle === undefined) return
      await handle.close().catch(() => {})
      await unlink(temporary).catch(() => {})
      handle = undefined
    },
  }
}

/** How an event of a stream is recorded. @param ms since the request */
export async function keepEvent(
  folder: string,
  bytes: Uint8Array,
  ms: number,
  now: number,
): Promise<RecordedEvent> {
  if (bytes.length <= maxInlineBytes && isUtf8(bytes)) {
    const text = Buffer.from(bytes).toString('utf8')
    const fields = eventFields(text)
    return fields === undefined ? { ms, text } : { ms, ...fields }
  }
  const keeper = createBodyKeeper(folder, 'text/plain', now, () => false)
  try {
    await keeper.write(bytes)
    return { ms, ...((await keeper.finish()) as { file: string; bytes: number }) }
  } finally {
    await keeper.discard()
  }
}

/**
 * The bytes of an event.
 * @throws DamagedRecording
 */
export async function eventBytes(folder: string, event: RecordedEvent): Promise<Uint8Array> {
  if ('file' in event) return readFile(await checkBody(folder, event))
  return Buffer.from('text' in event ? event.text : eventText(event))
}

/**
 * Checks the file of a body: its size, and the digest in its name.
 * @returns its path
 * @throws DamagedRecording
 */
export async function checkBody(
  folder: string,
  { file, bytes }: { readonly file: string; readonly bytes: number },
): Promise<string> {
  const path = join(folder, file)
  const hash = createHash('sha256')
  try {
    const found = await stat(path)
    if (!found.isFile() || found.size !== bytes) throw new DamagedRecording(`${file} has another size.`)
    for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  } catch (error) {
    if (error instanceof DamagedRecording) throw error
    throw new DamagedRecording(`${file} cannot be read.`)
  }
  if (!file.includes(`/${hash.digest('hex')}.`)) throw new DamagedRecording(`${file} has another digest.`)
  return path
}
