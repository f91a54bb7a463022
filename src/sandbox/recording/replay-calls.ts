import { createReadStream } from 'node:fs'
import { BrokenOff, wholeReply, type Frame, type Pause, type Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import type { Miss, ReplayStats } from '../request-log.ts'
import { callMatch, createsSomething, shortPath, type ArrivedCall, type CallMatcher } from './call-handler.ts'
import { writeJson } from './event-stream.ts'
import { eventFrame, maxEventBytes, streamed } from './pass-on.ts'
import { openLibrary, type Nearest } from './recording-library.ts'
import {
  checkBody,
  DamagedRecording,
  eventBytes,
  readRecording,
  type RecordedEvent,
  type RecordedReply,
} from './recording-file.ts'
import { atOrigin } from './result-urls.ts'

export interface ReplayOptions {
  /** An absolute path. */
  readonly folder: string
  /** Whether the reply takes as long as the recorded one, up to half a minute a wait. */
  readonly pace: 'fast' | 'real'
  /** Called with one line for each request that has no recording, or a damaged one. */
  readonly report: (line: string) => void
}

export type Replayer = Awaited<ReturnType<typeof createReplayer>>

const maxListed = 1000

/**
 * Answers requests from a folder of recordings, and never from anywhere else.
 * @param matchOf what fault rules take from a path: the name of its endpoint, and the model
 * @throws UsageError when the folder has no recordings, or some that cannot be used
 */
export async function createReplayer({ folder, pace, report }: ReplayOptions, matchOf: CallMatcher) {
  const library = await openLibrary(folder)
  const misses: Miss[] = []
  const damaged = new Set<string>()
  let missed = 0

  const miss = ({ method, path }: ArrivedCall, nearest: Nearest | undefined): RequestProblem => {
    const shown = shortPath(path)
    const { name, differs = [], path: otherPath } = nearest ?? {}
    missed++
    if (misses.length < maxListed)
      misses.push({ method, path: shown, nearest: name, differs: differs.slice(0, 10) })
    const where = otherPath === undefined ? listed(differs) : `path (${otherPath.slice(0, 200)})`
    const message =
      `No recording answers ${method} ${shown}.` +
      (name === undefined ? '' : ` The nearest is ${name}, which differs in: ${where}.`)
    report(message)
    return new RequestProblem(404, message, { code: 'recording_not_found' })
  }

  const answer = async (call: ArrivedCall): Promise<Reply> => {
    const entry = library.take(call.request)
    if (entry === undefined) throw miss(call, library.nearest(call.request))
    try {
      // Read again, so that memory holds no replies, and an edited one counts.
      const { reply } = await readRecording(folder, entry.name)
      const played = await playedReply(folder, reply, pace, call.asked.origin)
      return { ...played, creates: createsSomething(call.method, call.path, reply.status) }
    } catch (error) {
      if (!(error instanceof DamagedRecording)) throw error
      if (damaged.size < maxListed) damaged.add(error.message)
      report(`Damaged recording: ${error.message}`)
      throw new RequestProblem(500, `The recording ${entry.name} is damaged: ${error.message}`, {
        code: 'recording_damaged',
      })
    }
  }

  return {
    /** Finds how a request is answered: from a recording, or with 404. */
    find: (method: string, path: string) => callMatch(method, path, matchOf, answer),
    stats(): ReplayStats {
      const { entries } = library
      const unused = entries.filter(({ used }) => used === 0)
      return {
        mode: 'replay',
        recordings: entries.length,
        used: entries.length - unused.length,
        unused: unused.slice(0, maxListed).map(({ name }) => name),
        oldest: new Date(Math.min(...entries.map(({ at }) => at))).toISOString(),
        missed,
        misses,
        damaged: [...damaged],
      }
    },
  }
}

/** At most so many fields are named. */
const maxNamed = 5

function listed(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed).map((name) => name.slice(0, 100))
  return [...shown, ...(names.length > maxNamed ? ['…'] : [])].join(', ')
}

/** No recorded wait is longer, in milliseconds. */
const maxWaitMs = 30_000
/** Larger files are sent as they are read. */
const maxWholeBytes = 16 * 1024 * 1024

/** @throws DamagedRecording */
async function playedReply(
  folder: string,
  { status, headers: recordedHeaders, after_ms: afterMs, broken_off: isBrokenOff, body }: RecordedReply,
  pace: ReplayOptions['pace'],
  origin: string,
): Promise<Reply> {
  const entries = Object.entries(recordedHeaders).map(([name, value]) => [name, atOrigin(value, origin)])
  const headers = Object.fromEntries(entries) as Record<string, string>
  const waitUntil = (ms: number, before: number): Pause =>
    pace === 'fast' ? 'token' : Math.min(Math.max(ms - before, 0), maxWaitMs)
  const first = pace === 'fast' ? 'first' : waitUntil(afterMs, 0)
  const facts = { status, headers }
  const ending = (frames: AsyncIterable<Frame>, length?: number): Reply =>
    isBrokenOff
      ? { ...streamed, ...facts, creates: false, frames: brokenOffAfter(frames) }
      : {
          ...facts,
          breakOff: streamed.breakOff,
          creates: false,
          frames,
          isWhole: length === undefined || length <= maxWholeBytes,
          ...(length !== undefined &&
            length > maxWholeBytes && { headers: { ...headers, 'content-length': String(length) } }),
        }
  if (body === undefined) {
    return isBrokenOff
      ? ending(framesOf([]))
      : wholeReply([{ text: '', pause: first, role: 'terminal' }], undefined, facts)
  }
  if ('events' in body) {
    for (const event of body.events) await checkEvent(folder, event)
    const frames = eventFrames(folder, body.events, pace === 'fast' ? undefined : waitUntil)
    return { ...ending(frames), isWhole: false }
  }
  if ('file' in body) {
    return ending(fileFrames(await checkBody(folder, body), first), body.bytes)
  }
  const text = atOrigin('text' in body ? body.text : writeJson(body.json, body.layout ?? 'compact'), origin)
  return ending(framesOf([{ text, pause: first, role: 'terminal' }]))
}

async function* framesOf(frames: readonly Frame[]): AsyncGenerator<Frame> {
  yield* frames
}

async function* brokenOffAfter(frames: AsyncIterable<Frame>): AsyncGenerator<Frame> {
  yield* frames
  throw new BrokenOff()
}

async function* fileFrames(path: string, first: Pause): AsyncGenerator<Frame> {
  let pause = first
  for await (const bytes of createReadStream(path) as AsyncIterable<Uint8Array>) {
    yield { text: '', bytes, pause, role: 'event' }
    pause = 'none'
  }
}

/** So that a damaged event is found before the reply begins. */
async function checkEvent(folder: string, event: RecordedEvent): Promise<void> {
  if (!('file' in event)) return
  if (event.bytes > maxEventBytes) throw new DamagedRecording(`${event.file} is too large for an event.`)
  await checkBody(folder, event)
}

/** @param waitUntil undefined for no recorded waits */
async function* eventFrames(
  folder: string,
  events: readonly RecordedEvent[],
  waitUntil: ((ms: number, before: number) => Pause) | undefined,
): AsyncGenerator<Frame> {
  let before: number | undefined
  for (const event of events) {
    const pause = waitUntil?.(event.ms, before ?? 0) ?? (before === undefined ? 'first' : 'token')
    before = event.ms
    yield { ...eventFrame(Buffer.from(await eventBytes(folder, event))), pause }
  }
}
