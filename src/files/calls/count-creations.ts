import { join } from 'node:path'
import { FileError } from '../../errors.ts'
import { shownPath } from '../file-error.ts'
import { isWhole, linesFrom, monthFile, monthFiles } from '../sealed-lines.ts'
import { lineHead, type BookLine, type Count } from './call-book.ts'

/** Each line once, since a run asks before each of its thousands of creations. */
export class CreationReader {
  readonly #folder: string
  readonly #since: number
  /** How far each file has been read. */
  #read = new Map<string, number>()

  constructor(folder: string, since: number) {
    this.#folder = folder
    this.#since = since
  }

  /**
   * What was counted since the last time, before the line of a call that has just begun.
   * @param add takes undefined for a damaged line: it could be a creation
   * @throws FileError also when the line of the call is not there
   */
  readUntil(own: string, add: (count: Count | undefined, place: string) => void): void {
    // A later month's file has lines of those whose clock is ahead: whether they were first, nobody can say.
    const first = monthFile(this.#since)
    const isFound = monthFiles(this.#folder)
      .filter((name) => name >= first)
      .map((name) => this.#readFile(name, own, add))
    if (isFound.includes(true)) return
    const message = `The records in ${shownPath(this.#folder)} were changed by something else.`
    throw new FileError('file_changed', message, { billed: 'no', hint: 'Run it again.' })
  }

  #readFile(name: string, own: string, add: (count: Count | undefined, place: string) => void): boolean {
    const path = join(this.#folder, name)
    const from = new Date(this.#since).toISOString()
    for (const { start, bytes } of linesFrom(path, this.#read.get(name))) {
      const isSound = isWhole(bytes)
      // It stays to be read, since it stands before what this process creates next.
      if (isSound && lineHead.id(bytes) === own) return true
      this.#read.set(name, start + bytes.length + 1)
      const type = lineHead.type(bytes)
      if (!isSound) add(undefined, `the line at byte ${start} of ${shownPath(path)}`)
      else if (type === 'begin' || type === 'count') {
        const line = JSON.parse(bytes.toString()) as BookLine & Count
        if (line.at >= from) add(line, path)
      }
    }
    return false
  }
}
