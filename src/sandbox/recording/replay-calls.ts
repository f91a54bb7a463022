import { readdir } from 'node:fs/promises'
import { FileError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { BrokenOff, type Frame, type Pause, type Reply } from '../http/reply.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { mapped } from '../json-value.ts'
import { createsSomething, eventFrame, maxKeptBytes, shortPath, type ArrivedCall } from './call-handler.ts'
import { differences, keyOf, type RecordedRequest } from './recorded-request.ts'
import {
  DamagedRecording,
  readRecording,
  recordedBytes,
  type RecordedEvent,
  type RecordedReply,
} from './recording-file.ts'
import { atOrigin } from './result-urls.ts'

export interface ReplayOptions {
  /** An absolute path. */
  readonly folder: string
  /** `real`: as long as the recorded reply took, up to half a minute a wait. */
  readonly pace: 'fast' | 'real'
  readonly report: (line: string) => void
}

/** Of misses, recordings that were not used, and damaged ones. */
const maxListed = 1000

/**
 * Answers requests from a folder of recordings, and never from anywhere else.
 * @throws UsageError when the folder has no recordings, or some that cannot be used
 */
export async function createReplayer({ folder, pace, report }: ReplayOptions) {
  const entries = await readLibrary(folder)
  const groups = Map.groupBy(entries, ({ request }) => keyOf(request))
  const misses: { method: string; path: string; nearest: string | undefined; differs: string[] }[] = []
  const damaged = new Set<string>()
  let missed = 0

  /** Of the recordings of the same request the first, then the second, …, and at last always the last. */
  const take = (request: RecordedRequest): LibraryEntry | undefined => {
    const group = groups.get(keyOf(request))
    const entry = group?.find(({ used }) => used === 0) ?? group?.at(-1)
    if (entry !== undefined) entry.used++
    return entry
  }
  const miss = ({ request, asked }: ArrivedCall): RequestProblem => {
    const { method } = request
    const { name: nearest, differs = [] } = nearestOf(entries, request) ?? {}
    const path = shortPath(asked.path)
    missed++
    if (misses.length < maxListed) misses.push({ method, path, nearest, differs: differs.slice(0, 10) })
    const places = [...differs.slice(0, 5).map((place) => place.slice(0, 100)), ...(differs[5] ? ['…'] : [])]
    const hint =
      nearest === undefined
        ? 'None has this path.'
        : `The nearest is ${nearest}, which differs in: ${places.join(', ')}.`
    const message = `No recording answers ${method} ${path}. ${hint}`
    report(message)
    return new RequestProblem(404, message, { code: 'recording_not_found' })
  }

  const answer = async (call: ArrivedCall): Promise<Reply> => {
    const { range: _, ...headers } = call.request.headers
    // A server may answer a request for a part with the whole (RFC 9110, section 14.2).
    const entry = take(call.request) ?? take({ ...call.request, headers })
    if (entry === undefined) throw miss(call)
    try {
      // Read again, so that memory holds no replies, and an edited one counts.
      const { reply } = await readRecording(folder, entry.name)
      const creates = createsSomething(call.request.method, call.asked.path, reply.status)
      return { ...(await playedReply(folder, reply, pace, call.asked.origin)), creates }
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
    answer,
    stats() {
      const unused = entries.filter(({ used }) => used === 0)
      return {
        mode: 'replay' as const,
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

interface LibraryEntry {
  readonly name: string
  readonly request: RecordedRequest
  /** When it was recorded. */
  readonly at: number
  used: number
}

const maxProblems = 20

/**
 * Reads all recordings of a folder, in the order of their names, which is that of the recorded calls.
 * @throws FileError when there is none, UsageError naming each that cannot be used
 */
export async function readLibrary(folder: string): Promise<readonly LibraryEntry[]> {
  const shown = shownPath(folder)
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.code}`
    throw new FileError('not_recorded', `The folder of recordings ${shown} ${reason}.`, {
      phase: 'input',
    })
  })
  const names = found
    .filter((name) => /^[^.].*\.json$/.test(name))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  const entries: LibraryEntry[] = []
  const problems: string[] = []
  for (const name of names) {
    try {
      const { request, recorded } = await readRecording(folder, name)
      entries.push({ name, request, at: Date.parse(recorded), used: 0 })
    } catch (error) {
      if (!(error instanceof DamagedRecording)) throw error
      problems.push(error.message)
    }
  }
  if (problems.length > 0) {
    const more = problems.length > maxProblems ? [`${problems.length - maxProblems} more.`] : []
    throw new UsageError([...problems.slice(0, maxProblems), ...more], { code: 'not_recorded' })
  }
  if (entries.length === 0) {
    throw new UsageError(`There are no recordings in ${shown}.`, {
      code: 'not_recorded',
      hint: `Make some: modelgate sandbox --record ${shown} --upstream URL`,
    })
  }
  return entries
}

const maxCompared = 500

/** The recording of the same path that differs least from a request. */
function nearestOf(entries: readonly LibraryEntry[], request: RecordedRequest) {
  const pathOf = ({ path }: RecordedRequest) => path.split('?')[0]
  const [nearest] = entries
    .filter((entry) => pathOf(entry.request) === pathOf(request))
    .slice(0, maxCompared)
    .map(({ name, request: recorded }) => ({ name, differs: differences(request, recorded) }))
    .sort((one, other) => one.differs.length - other.differs.length)
  return nearest
}

const maxWaitMs = 30_000

/** @throws DamagedRecording before the reply begins */
async function playedReply(
  folder: string,
  { status, headers, after_ms: afterMs, broken_off: isBrokenOff, body }: RecordedReply,
  pace: ReplayOptions['pace'],
  origin: string,
): Promise<Omit<Reply, 'creates'>> {
  const isStream = body !== undefined && 'events' in body
  const parts: readonly RecordedEvent[] = isStream
    ? body.events
    : [{ ms: afterMs, ...(body ?? { text: '' }) }]
  const frames: Frame[] = []
  let size = 0
  for (const [at, part] of parts.entries()) {
    const bytes = await recordedBytes(folder, part)
    size += bytes.length
    if (size > maxKeptBytes) throw new DamagedRecording('Its reply is too large.')
    const wait = part.ms - (parts[at - 1]?.ms ?? 0)
    const usual: Pause = at === 0 ? 'first' : 'token'
    const pause = pace === 'fast' ? usual : Math.min(wait, maxWaitMs)
    const frame = { ...eventFrame(bytes), pause }
    frames.push(isStream ? frame : { ...frame, text: atOrigin(frame.text, origin), role: 'terminal' })
  }
  return {
    status,
    headers: mapped(headers, (value) => atOrigin(value, origin)),
    frames: isBrokenOff ? breakingOff(frames) : frames,
    isWhole: !isStream && !isBrokenOff,
  }
}

function* breakingOff(frames: readonly Frame[]): Generator<Frame> {
  yield* frames
  throw new BrokenOff()
}
