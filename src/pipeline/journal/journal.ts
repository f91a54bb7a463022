import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { randomHex, type Clock } from '../../context.ts'
import type { FileError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder, syncFolder } from '../../files/write-target.ts'
import type { Project } from '../project.ts'
import { listRuns, runsFolder, type History } from './history.ts'
import { findTail, writeLine, type JournalEvent } from './journal-line.ts'

/** The journal of a run, `.modelgate/runs/<run>.jsonl`, while this process appends to it. */
export interface Journal {
  /** The id of the run. */
  readonly run: string
  /**
   * Resolves when the event is on the disk; events that are appended meanwhile share one sync. Their order is that of
   * the calls.
   * @throws FileError when it cannot be written; from then on nothing is, because what is on the disk is not known
   */
  append(event: JournalEvent): Promise<void>
  /** Waits for what is being written. */
  close(): Promise<void>
}

interface Waiting extends Omit<PromiseWithResolvers<void>, 'promise'> {
  readonly line: string
}

/**
 * Opens the journal of the unfinished run, or of a new one. There is no file before the first event. Only the owner of the
 * manifest may do so.
 * @param unfinished the run to go on with; null begins a new one
 * @throws FileError when the folder of the journals cannot be read
 */
export async function openJournal(
  project: Project,
  clock: Clock,
  unfinished: History['unfinished'],
): Promise<Journal> {
  const folder = runsFolder(project)
  const run = unfinished?.run ?? newRun((await listRuns(folder)).at(-1), clock)
  const path = join(folder, `${run}.jsonl`)
  let waiting: Waiting[] = []
  let handle: FileHandle | undefined
  let failure: FileError | undefined
  /** As much of the file as is on the disk for certain. */
  let syncedBytes = 0
  let writtenBytes = 0
  let writing: Promise<void> | undefined

  const openFile = async () => {
    if (unfinished !== null) {
      const left = await openUnfinished(path)
      syncedBytes = left.bytes
      writtenBytes = left.bytes
      return left.handle
    }
    await makeFolder(folder)
    const created = await open(path, 'ax', 0o600)
    for (const above of [folder, project.stateFolder, project.outputFolder]) await syncFolder(above)
    const begin = { type: 'begin' as const, run, manifest: basename(project.manifestPath) }
    handle = created
    const line = Buffer.from(writeLine({ ...begin, version: __VERSION__ }, clock.now()))
    await created.appendFile(line)
    writtenBytes = line.length
    return created
  }
  const writeAll = async () => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        if (failure !== undefined) throw failure
        handle ??= await openFile()
        const lines = Buffer.from(batch.map(({ line }) => line).join(''))
        await handle.appendFile(lines)
        await handle.datasync()
        writtenBytes += lines.length
        syncedBytes = writtenBytes
        for (const { resolve } of batch) resolve()
      } catch (error) {
        if (failure === undefined) {
          failure = writeError(error, path)
          // The next process must not believe what this one was told is not there.
          await handle?.truncate(syncedBytes).catch(() => {})
        }
        for (const { reject } of batch) reject(failure)
      }
    }
    writing = undefined
  }

  return {
    run,
    append(event) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.push({ line: writeLine(event, clock.now()), resolve, reject })
      writing ??= writeAll()
      return promise
    },
    async close() {
      await writing
      // What counts has been synced.
      await handle?.close().catch(() => {})
    },
  }
}

/** Opens a journal that another process has left, and takes off a line that it did not get to finish. */
async function openUnfinished(path: string): Promise<{ handle: FileHandle; bytes: number }> {
  const handle = await open(path, constants.O_RDWR | constants.O_APPEND)
  try {
    const { wholeBytes, needsNewline } = findTail(await handle.readFile())
    await handle.truncate(wholeBytes)
    if (needsNewline) await handle.appendFile('\n')
    return { handle, bytes: wholeBytes + (needsNewline ? 1 : 0) }
  } catch (error) {
    await handle.close().catch(() => {})
    throw error
  }
}

/** Later than the newest run, also by a clock that was put back. */
function newRun(newest: string | undefined, clock: Clock): string {
  const time = Math.max(clock.now(), newest === undefined ? 0 : timeOf(newest) + 1)
  return `${new Date(time).toISOString().replaceAll(/[-:.Z]/g, '')}-${randomHex(clock, 8)}`
}

/** When a run began, in milliseconds since 1970, by the clock of its machine. */
export function timeOf(run: string): number {
  const [, year, month, day, hour, minute, second, ms] = /^(....)(..)(..)T(..)(..)(..)(...)/.exec(run)!
  // A name that holds no time, such as a month of 99, is not ours.
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`) || 0
}
