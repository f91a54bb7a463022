import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { readError, systemCode, writeError } from './file-error.ts'
import { makeFolder } from './write-target.ts'

/** Records that only grow: a folder with one file a month, `2026-11.jsonl`, one record a line. */
const fileName = /^\d{4}-(?:0[1-9]|1[0-2])\.jsonl$/

/** The name of the file of a month. @param now milliseconds since 1970; the month is that of UTC */
export function monthFile(now: number): string {
  return `${new Date(now).toISOString().slice(0, 7)}.jsonl`
}

/**
 * Appends a line to the file of the month. Any number of processes may do so at once, and be killed at any time: each
 * line is one write, which the system keeps whole.
 * @param line with its newline
 * @param now milliseconds since 1970
 * @param isSynced whether it is on the disk when this ends
 * @throws FileError
 */
export async function appendLine(
  folder: string,
  line: string,
  { now, isSynced = false }: { readonly now: number; readonly isSynced?: boolean },
): Promise<void> {
  const path = join(folder, monthFile(now))
  const append = () => appendTo(path, line, isSynced)
  try {
    append()
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw writeError(error, path)
    // The first line of all.
    await makeFolder(folder).catch((cause: unknown) => {
      throw writeError(cause, folder)
    })
    try {
      append()
    } catch (cause) {
      throw writeError(cause, path)
    }
  }
}

function appendTo(path: string, line: string, isSynced: boolean): void {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
  try {
    // A process that was killed, or a disk that was full, may have left a line without its end.
    const bytes = Buffer.from(endsInNewline(descriptor) ? line : `\n${line}`)
    const written = writeSync(descriptor, bytes)
    if (written < bytes.length) throw Object.assign(new Error('The line was cut.'), { code: 'ENOSPC' })
    if (isSynced) fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function endsInNewline(descriptor: number): boolean {
  const { size } = fstatSync(descriptor)
  const last = Buffer.alloc(1)
  return size === 0 || readSync(descriptor, last, 0, 1, size - 1) === 0 || last[0] === 10
}

/** The names of the files of a folder, the oldest first; none where there is no folder. @throws FileError */
export function monthFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => fileName.test(name))
      .toSorted()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw readError(error, folder)
  }
}
