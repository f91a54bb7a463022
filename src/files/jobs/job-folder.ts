import { randomBytes } from 'node:crypto'
import { open, readFile, readdir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../file-error.ts'
import type { FileHost } from '../../context.ts'
import { renameFile, syncFolder } from '../write-target.ts'
import { removeLeftovers } from '../atomic-file.ts'
import { decodeRecord, mergeRecords, type JobRecord } from './job-record.ts'
import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'

/** The contents of a job's folder. */
export interface FoundRecord {
  /** All that any process has written; undefined when none of it can be read. */
  readonly record: JobRecord | undefined
  /** The files that the record was read from. */
  readonly names: readonly string[]
  /** The next version has a higher number. */
  readonly number: number
  /** Files that are not valid records, each as a clause. */
  readonly damage: readonly string[]
  /** A writer is at work, or was killed. */
  readonly hasLeftovers: boolean
  /** The files that hold what has arrived of the gateway's reply. */
  readonly replies: readonly string[]
}

/** `3-0123456789abcdef.json`: the number orders the versions, the random part keeps writers apart. */
const versionName = /^(\d{1,9})-[0-9a-f]{16}\.json$/

const replyName = /^reply-[0-9a-f]{16}\.part$/

/** How often the folder is listed, because others may replace files between the listing and the reading. */
const maxListings = 50
const maxEmptyListings = 3

/**
 * Reads the record of a job. Usually there is one file; writers that met have left one each, and killed ones older ones.
 * @throws the error of the system, `ENOENT` when there is no such folder
 */
export async function readJobFolder(folder: string): Promise<FoundRecord> {
  for (let listing = 1; ; listing++) {
    const all = await readdir(folder)
    const names = all.filter((name) => versionName.test(name)).toSorted(byNumber)
    const hasLeftovers = all.some((name) => name.endsWith('.mgpart'))
    const texts = await Promise.all(names.map((name) => readVersion(join(folder, name))))
    const isWhole = names.length > 0 && texts.every((text) => text !== undefined)
    const rest = { hasLeftovers, replies: all.filter((name) => replyName.test(name)) }
    if (isWhole || listing === maxListings) return { ...foundIn(names, texts), ...rest }
    // An empty folder belongs to a job that is being recorded, or to a writer that was killed at that.
    if (names.length === 0 && listing >= maxEmptyListings) return { ...foundIn([], []), ...rest }
  }
}

/**
 * Writes a version that holds all of `found`, and then removes that. Every file is written once and never changed, so
 * whatever others do meanwhile, what has been written stays in one file or another.
 * @throws the error of the system; the files are then as they were
 */
export async function writeVersion(
  host: FileHost | undefined,
  folder: string,
  found: Pick<FoundRecord, 'names' | 'number'>,
  json: string,
): Promise<void> {
  const chance = randomBytes(8).toString('hex')
  const temporary = join(folder, `.record.${chance}.mgpart`)
  const number = Math.min(found.number + 1, 999_999_999)
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(json)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await renameFile(host, temporary, join(folder, `${number}-${chance}.json`))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(folder)
  await removeFiles(folder, found.names)
}

/** Creates a file for the gateway's reply as it arrives. @throws the error of the system */
export async function createReplyLog(folder: string, clean: (text: string) => string): Promise<ReplyLog> {
  const log = openReplyLog(join(folder, `reply-${randomBytes(8).toString('hex')}.part`), clean)
  await syncFolder(folder)
  return log
}

/** What has arrived of the gateway's reply, as text; empty when there is nothing. */
export async function readReply(folder: string, { replies }: Pick<FoundRecord, 'replies'>): Promise<string> {
  const texts = await Promise.all(replies.map((name) => readVersion(join(folder, name))))
  return texts.find((text) => text) ?? ''
}

/** Removes the stored beginning of the gateway's reply once it has been read. Best effort: never throws. */
export async function removeReplies(
  folder: string,
  { replies }: Pick<FoundRecord, 'replies'>,
): Promise<void> {
  await removeFiles(folder, replies)
}

/** Removes a job, unless a writer has added another version of it in the meantime. Best effort: never throws. */
export async function removeJobFolder(
  folder: string,
  { names, replies }: Pick<FoundRecord, 'names' | 'replies'>,
  now: number,
): Promise<void> {
  await removeFiles(folder, [...names, ...replies])
  await tidyJobFolder(folder, now)
}

/** Removes what killed writers left more than a day ago. Best effort: never throws. @param now milliseconds since 1970 */
export async function tidyJobFolder(folder: string, now: number): Promise<void> {
  await removeLeftovers(folder, now)
  // Works only for an empty folder. Whoever is about to write its first record makes it again.
  await rmdir(folder).catch(() => {})
}

function foundIn(
  names: readonly string[],
  texts: readonly (string | undefined)[],
): Omit<FoundRecord, 'hasLeftovers' | 'replies'> {
  const damage: string[] = []
  const read: string[] = []
  let record: JobRecord | undefined
  for (const [at, name] of names.entries()) {
    const text = texts[at]
    if (text === undefined) continue
    const decoded = decodeRecord(text)
    if (decoded.record === undefined) {
      damage.push(`${name} ${text === '' ? 'cannot be read' : decoded.problem}`)
      continue
    }
    read.push(name)
    record = record === undefined ? decoded.record : mergeRecords(record, decoded.record)
  }
  return { record, names: read, number: Math.max(0, ...names.map(numberOf)), damage }
}

/** The text of a version; undefined when it is gone; empty, which is not a valid record, when it cannot be read. */
async function readVersion(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((error: unknown) =>
    systemCode(error) === 'ENOENT' ? undefined : '',
  )
}

async function removeFiles(folder: string, names: readonly string[]): Promise<void> {
  // Another writer may have removed them already; one that cannot be removed holds nothing new.
  for (const name of names) await unlink(join(folder, name)).catch(() => {})
}

function byNumber(one: string, other: string): number {
  return numberOf(one) - numberOf(other) || (one < other ? -1 : 1)
}

function numberOf(name: string): number {
  return Number(versionName.exec(name)?.[1])
}

/** As much of the reply to a new job is kept as holds its id behind an echoed prompt of the greatest length. */
export const jobReplyBeginningBytes = 160 * 1024

/** The beginning of a reply, on disk as it arrives: a process killed before reading it has not lost the job's id. */
export interface ReplyLog {
  /** The bytes are on the disk when it returns. Never throws: a disk that fails must not fail the job. */
  add(bytes: Uint8Array): void
  /** Never throws. */
  close(): void
}

/**
 * Creates the file, which only the user may read.
 * @param clean takes secrets out of what is written
 * @throws the error of the system
 */
function openReplyLog(path: string, clean: (text: string) => string): ReplyLog {
  const descriptor = openSync(path, 'wx', 0o600)
  let beginning = Buffer.alloc(0)
  let nextSync = 1
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    try {
      closeSync(descriptor)
    } catch {
      // What counts has been synced.
    }
  }
  return {
    add(bytes) {
      if (!isOpen || beginning.length >= jobReplyBeginningBytes) return
      beginning = Buffer.concat([beginning, bytes.subarray(0, jobReplyBeginningBytes - beginning.length)])
      try {
        // All of it again, because a secret may arrive in two pieces.
        const text = Buffer.from(clean(beginning.toString()))
        writeSync(descriptor, text, 0, text.length, 0)
        ftruncateSync(descriptor, text.length)
        if (beginning.length < nextSync) return
        fdatasyncSync(descriptor)
        nextSync = beginning.length * 2
      } catch {
        close()
      }
    },
    close,
  }
}
