import { isUtf8 } from 'node:buffer'
import type { Clock } from '../../context.ts'
import { BrokenOff, wholeReply, type Frame, type Reply } from '../http/reply.ts'
import { createEventSplitter } from './event-stream.ts'
import type { SecretSearch } from './find-secrets.ts'
import { createBodyKeeper, keepEvent, type RecordedBody, type RecordedEvent } from './recording-file.ts'
import { atOrigin, maxRewrittenBytes } from './result-urls.ts'

/** A reply of the gateway, with its body as it arrives, in no encoding. */
export interface UpstreamReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

/** A reply to pass on, and where it is kept. */
interface PassedReply {
  readonly reply: UpstreamReply
  readonly folder: string
  readonly clock: Clock
  /** When the request came, on the monotonic clock. */
  readonly started: number
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
  readonly search: SecretSearch
  /** Called when the caller has gone before the end, so that nothing is recorded. */
  readonly abandon: () => void
  /** Records the call, or says why not. Never rejects. */
  readonly keep: (body: () => Promise<RecordedBody | undefined>, isBrokenOff: boolean) => Promise<void>
}

/** Of the events of a stream that have no files of their own. */
const maxStreamBytes = 16 * 1024 * 1024
export const maxEventBytes = 64 * 1024 * 1024

/** What all replies have that are passed on as they arrive. */
export const streamed = { isWhole: false, breakOff: () => [] } as const

/**
 * Passes a body on as it arrives. It is recorded before its last bytes are passed on; not at all when the caller has
 * gone before.
 */
export async function* passBytes(
  { reply, folder, clock, signal, search, keep, abandon }: PassedReply,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Frame> {
  const keeper = createBodyKeeper(folder, reply.headers['content-type'] ?? '', clock.now())
  const length = Number(reply.headers['content-length'] ?? NaN)
  let size = 0
  let isKept = false
  let isBrokenOff = false
  let problem: Error | undefined
  const take = async (chunk: Uint8Array) => {
    size += chunk.length
    if (problem !== undefined || search.found !== undefined) return
    search.look(Buffer.from(chunk).toString('latin1'))
    await keeper.write(chunk).catch((error: Error) => (problem = error))
  }
  const finish = async () => {
    if (isKept) return
    isKept = true
    await keep(async () => {
      if (problem !== undefined) throw problem
      return keeper.finish()
    }, isBrokenOff)
  }
  try {
    try {
      for await (const chunk of body) {
        await take(chunk)
        // With the last byte of a known length the caller has it all.
        if (size >= length) await finish()
        yield { text: '', bytes: chunk, pause: 'token', role: 'event' }
      }
    } catch (error) {
      if (signal.aborted) throw error
      isBrokenOff = true
    }
    await finish()
  } finally {
    if (!isKept) abandon()
    await keeper.discard()
    reply.close()
  }
  if (isBrokenOff) throw new BrokenOff()
}

/**
 * The same for a stream of events, each recorded with its time. A caller may go when it has the event that completes
 * the stream.
 */
export async function* passEvents({
  reply,
  folder,
  clock,
  started,
  signal,
  search,
  keep,
  abandon,
}: PassedReply): AsyncGenerator<Frame> {
  let splitter = createEventSplitter()
  const events: RecordedEvent[] = []
  let isBrokenOff = false
  let problem: Error | undefined
  let size = 0
  let isKept = false
  let isComplete = false
  const finish = async () => {
    isKept = true
    await keep(async () => {
      if (problem !== undefined) throw problem
      return { events }
    }, isBrokenOff)
  }
  const take = async (event: string) => {
    isComplete ||= completing.test(event)
    if (problem !== undefined || search.found !== undefined) return
    const bytes = Buffer.from(event, 'latin1')
    search.lookAtEvent(bytes.toString('utf8'))
    const ms = Math.round(clock.monotonic() - started)
    const kept = keepEvent(folder, bytes, ms, clock.now())
    await kept.then(
      (entry) => events.push(entry),
      (error: Error) => (problem = error),
    )
    size += 'file' in (events.at(-1) ?? {}) ? 0 : bytes.length
    if (size > maxStreamBytes) problem = new Error('the stream is too long')
  }
  try {
    try {
      for await (const chunk of reply.body) {
        if (problem !== undefined) {
          yield eventFrame(Buffer.from(chunk))
          continue
        }
        // One character for each byte, so that no character is split.
        for (const { text, event } of splitter.push(Buffer.from(chunk).toString('latin1'))) {
          if (event !== undefined) await take(event)
          if (text !== '') yield eventFrame(Buffer.from(text, 'latin1'))
        }
        if (splitter.openLength <= maxEventBytes) continue
        problem = new Error('an event is too long')
        splitter = createEventSplitter()
      }
    } catch (error) {
      if (signal.aborted) throw error
      isBrokenOff = true
    }
    if (splitter.open !== '') await take(splitter.open)
    await finish()
  } finally {
    // What could not be recorded in any case is not the caller's doing.
    if (!isKept && (isComplete || problem !== undefined)) await finish()
    else if (!isKept) abandon()
    reply.close()
  }
  if (isBrokenOff) throw new BrokenOff()
}

/**
 * A JSON document that may have addresses of results in it: read whole, unless it is large, and passed on with the
 * addresses that these have here.
 */
export async function passRewritten(
  passed: PassedReply,
  rewrite: (json: string) => string,
  origin: string,
): Promise<Pick<Reply, 'frames' | 'isWhole' | 'breakOff'>> {
  const chunks: Uint8Array[] = []
  const body = passed.reply.body[Symbol.asyncIterator]()
  let size = 0
  let failure: { readonly error: unknown } | undefined
  let isEnded = false
  try {
    while (!isEnded && size <= maxRewrittenBytes) {
      const next = await body.next()
      isEnded = next.done === true
      if (!isEnded) size += chunks[chunks.push(next.value as Uint8Array) - 1]!.length
    }
  } catch (error) {
    failure = { error }
  }
  const bytes = Buffer.concat(chunks)
  if (size > maxRewrittenBytes || !isUtf8(bytes)) {
    return { ...streamed, frames: passBytes(passed, continued(bytes, body, failure)) }
  }
  const json = rewrite(bytes.toString('utf8'))
  const recorded = passBytes(passed, continued(Buffer.from(json), body, failure))
  if (failure !== undefined) return { ...streamed, frames: withText(recorded, atOrigin(json, origin)) }
  for await (const _ of recorded);
  const { frames, isWhole, breakOff } = wholeReply(atOrigin(json, origin), undefined)
  return { frames, isWhole, breakOff }
}

/** What has been read of a body, and the rest of it. */
async function* continued(
  read: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
  failure: { readonly error: unknown } | undefined,
): AsyncGenerator<Uint8Array> {
  yield read
  if (failure !== undefined) throw failure.error
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

async function* withText(frames: AsyncIterable<Frame>, text: string): AsyncGenerator<Frame> {
  for await (const frame of frames) yield { ...frame, bytes: Buffer.from(text) }
}

const completing =
  /"type":\s*"(?:response\.(?:completed|failed|incomplete)|image_(?:generation|edit)\.completed|error)"|"finishReason":/

/** An event as it is sent: as text, which faults can change, if it is text. */
export function eventFrame(bytes: Buffer): Frame {
  if (!isUtf8(bytes)) return { text: '', bytes, pause: 'token', role: 'event' }
  const text = bytes.toString('utf8')
  const role = /^data: ?\[DONE\]/.test(text) ? 'closing' : completing.test(text) ? 'terminal' : 'event'
  return { text, pause: 'token', role }
}
