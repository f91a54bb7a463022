import { readdir } from 'node:fs/promises'
import { shownPath } from '../../files/file-error.ts'
import { FileError, UsageError } from '../../errors.ts'
import { differences, keyOf, type RecordedRequest } from './recorded-request.ts'
import { DamagedRecording, readRecording } from './recording-file.ts'

/** A recording in a folder. */
interface LibraryEntry {
  /** Of its file. */
  readonly name: string
  readonly request: RecordedRequest
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number
  /** How often it has answered. */
  used: number
}

/** The recording that is most like a request, and where they differ. */
export interface Nearest {
  readonly name: string
  /** `path`, `query`, fields of the body, … */
  readonly differs: readonly string[]
  /** The path of the recording, where that differs. */
  readonly path: string | undefined
}

/** At most so many problems are listed. */
const maxProblems = 20
/** So many recordings of the same path are compared in full. */
const maxCompared = 500

/**
 * Reads all recordings of a folder.
 * @param folder an absolute path
 * @throws FileError when there is none, UsageError naming each that cannot be used
 */
export async function openLibrary(folder: string) {
  const shown = shownPath(folder)
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.code}`
    throw new FileError('recordings_missing', `The folder of recordings ${shown} ${reason}.`, {
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
    throw new UsageError([...problems.slice(0, maxProblems), ...more], { code: 'recordings_damaged' })
  }
  if (entries.length === 0) {
    throw new UsageError(`There are no recordings in ${shown}.`, {
      code: 'recordings_missing',
      hint: `Make some: modelgate sandbox --record ${shown} --upstream URL`,
    })
  }
  return libraryOf(entries)
}

/** @param entries in the order of their names, which is that of the recorded calls */
function libraryOf(entries: readonly LibraryEntry[]) {
  const groups = Map.groupBy(entries, ({ request }) => keyOf(request))
  const taken = new Map<string, number>()
  const takeBy = (key: string): LibraryEntry | undefined => {
    const group = groups.get(key)
    if (group === undefined) return undefined
    const count = taken.get(key) ?? 0
    taken.set(key, count + 1)
    const entry = group[Math.min(count, group.length - 1)]!
    entry.used++
    return entry
  }
  return {
    entries,
    /**
     * The recording that answers a request: of those of the same request the first, then the second, …, and at last always
     * the last.
     */
    take(request: RecordedRequest): LibraryEntry | undefined {
      const { range, ...headers } = request.headers
      const whole = range === undefined ? undefined : { ...request, headers }
      // A server may answer a request for a part with the whole (RFC 9110, section 14.2).
      return takeBy(keyOf(request)) ?? (whole && takeBy(keyOf(whole)))
    },
    nearest(request: RecordedRequest): Nearest | undefined {
      const pathOf = ({ path }: RecordedRequest) => path.split('?')[0]!
      const own = entries.filter((entry) => pathOf(entry.request) === pathOf(request))
      const body = JSON.stringify(request.body ?? null)
      const [nearest] = own
        .slice(0, maxCompared)
        .map(({ name, request: recorded }) => ({
          name,
          differs: differences(request, recorded),
          likeness: commonStart(JSON.stringify(recorded.body ?? null), body),
        }))
        .sort((one, other) => one.differs.length - other.differs.length || other.likeness - one.likeness)
      if (nearest !== undefined) return { name: nearest.name, differs: nearest.differs, path: undefined }
      const likeness = (entry: LibraryEntry) =>
        commonStart(entry.request.path, request.path) + (entry.request.method === request.method ? 0.5 : 0)
      const [other] = entries.toSorted((one, two) => likeness(two) - likeness(one))
      if (other === undefined) return undefined
      const differs = other.request.method === request.method ? ['path'] : ['method', 'path']
      return { name: other.name, differs, path: other.request.path }
    },
  }
}

function commonStart(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}
