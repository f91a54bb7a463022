import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomHex, systemClock, type Clock } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { cannotWrite, readingIfThere, shownPath, systemCode, writing } from '../file-error.ts'
import { appendLine, monthFile, sealedLine } from '../sealed-lines.ts'
import { makeFolder } from '../write-target.ts'
import type { JobProgress, JobRecord } from './job-record.ts'
import { withoutText, type CallEnd, type CallStart, type CallWords } from './call-record.ts'

/** An amount is a decimal number, null while the cost is not known. */
export interface Count {
  readonly count: number
  readonly amount?: string | null
  readonly was?: string | null
  readonly currency?: string | null
}

/**
 * `begin`, on disk before the request is sent, counts what it creates, so that a killed process leaves too many,
 * never too few; `end` has all facts, so that it can be read alone; `count` is no call, or corrects what one has
 * counted.
 */
export type BookLine = { readonly id: string; readonly at: string } & (
  | ({ readonly type: 'begin' } & Count & CallStart)
  | ({ readonly type: 'count' } & Count)
  | ({ readonly type: 'end'; readonly others?: readonly string[] } & CallEnd)
)

/** All that is known of a job when it is recorded, then what is learned of it, or that it is forgotten. */
export interface JobLine {
  readonly job?: JobRecord
  readonly change?: Partial<JobProgress>
  readonly forgotten?: true
}

/** `{"id":"0123456789abcdef","at":"2026-11-27T08:00:00.000Z","type":"` */
const idAt = '{"id":"'.length
const timeAt = idAt + 16 + '","at":"'.length
const typeAt = timeAt + '2026-11-27T08:00:00.000Z","type":"'.length

export const lineHead = {
  id: (line: Buffer) => line.toString('latin1', idAt, idAt + 16),
  time: (line: Buffer) => line.toString('latin1', timeAt, timeAt + 24),
  type: (line: Buffer) => line.toString('latin1', typeAt, typeAt + 5).replace(/\W.*/, ''),
}

/** Only in lines about jobs: within a text its quotes would be escaped. */
export const jobMark = Buffer.from('","type":"job",')

export function callsFolder(stateFolder: string): string {
  return join(stateFolder, 'calls')
}

export function wordsFile(folder: string, id: string): string {
  return join(folder, 'words', `${id}.json`)
}

const bookVersion = 1

const oldFolders = ['log', 'ledger', 'jobs', 'responses', 'images']

/** Takes over earlier versions' records, once. @throws FileError `other_version` for those of a newer program */
export async function openBook(stateFolder: string): Promise<string> {
  const folder = callsFolder(stateFolder)
  const path = join(folder, 'version')
  const version = Number.parseInt(readingIfThere(path, () => readFileSync(path, 'latin1')) ?? '')
  if (!version) {
    const old = oldFolders.some((name) => existsSync(join(stateFolder, name)))
    if (old) await (await import('./take-over.ts')).takeOver(stateFolder, folder)
  } else if (version > bookVersion) {
    const message = `${shownPath(folder)} was written by a newer version of modelgate.`
    const hint = 'Update this one, or set MODELGATE_STATE_DIR to another folder.'
    throw new FileError('other_version', message, { billed: 'no', hint })
  }
  return folder
}

/**
 * Nothing is ever changed or locked: whoever wants to create something appends a line first, and what stands before
 * that line decides whether it may.
 */
export class CallBook {
  readonly #stateFolder: string | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #clean: (json: string) => string
  #folder: string | undefined

  /** @param clean takes secrets out of the JSON: somebody may have given a key in place of a model */
  constructor(
    stateFolder: string | undefined,
    clock: Pick<Clock, 'now'>,
    clean: (json: string) => string = (json) => json,
  ) {
    this.#stateFolder = stateFolder
    this.#clock = clock
    this.#clean = clean
  }

  /** @returns the folder, which is made @throws FileError */
  async open(): Promise<string> {
    if (this.#folder !== undefined) return this.#folder
    if (this.#stateFolder === undefined) {
      throw new FileError('no_state_folder', 'Nothing can be recorded: there is no home directory.', {
        billed: 'no',
        hint: 'Set HOME, XDG_STATE_HOME or MODELGATE_STATE_DIR.',
      })
    }
    const folder = await openBook(this.#stateFolder)
    if (!existsSync(join(folder, 'version'))) {
      await makeFolder(folder).catch(cannotWrite(folder))
      writing(folder, () => writeFileSync(join(folder, 'version'), `${bookVersion}\n`, { mode: 0o600 }))
    }
    return (this.#folder = folder)
  }

  /** Before something is created; synced. The book has to be open. @returns the id of the call @throws FileError */
  begin(start: Count & Partial<CallStart>): string {
    const id = newId()
    this.#append({ id, type: start.command === undefined ? 'count' : 'begin', ...start }, true)
    return id
  }

  /** Corrects what a call has counted. Never throws: it stays counted as it was, too much and never too little. */
  correct(id: string, count: Count): void {
    try {
      this.#append({ id, type: 'count', ...count })
    } catch {}
  }

  /** @param ids of the call's requests; none for a call that created nothing @throws FileError */
  async end([id = newId(), ...others]: readonly string[], end: CallEnd, words?: CallWords): Promise<void> {
    await this.open()
    try {
      const { reply } = words ?? {}
      if (words !== undefined)
        await this.keepWords(id, reply === undefined ? words : { ...words, reply: withoutText(reply) })
    } finally {
      const also = others.length === 0 ? {} : { others }
      this.#append({ id, type: 'end', ...also, ...end })
    }
  }

  /** @param id of the record of a call or a job @throws FileError */
  async keepWords(id: string, words: CallWords): Promise<void> {
    const folder = await this.open()
    const path = wordsFile(folder, id)
    await writing(path, async () => {
      const text = `${this.#clean(JSON.stringify(words))}\n`
      // What a kill leaves of it has no id, and goes with the next `log clear`.
      const part = `${path}.part`
      const write = () => writeFileSync(part, text, { mode: 0o600 })
      try {
        write()
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error
        await makeFolder(join(folder, 'words'))
        write()
      }
      renameSync(part, path)
    })
  }

  /** The book has to be open. @throws FileError */
  addJob({ id, ...line }: { readonly id: string } & JobLine, isSynced = false): void {
    this.#append({ id, type: 'job', ...line }, isSynced)
  }

  #append({ id, type, ...fields }: Record<string, unknown>, isSynced = false): void {
    const now = this.#clock.now()
    const path = join(this.#folder!, monthFile(now))
    const json = JSON.stringify({ id, at: new Date(now).toISOString(), type, ...fields })
    writing(path, () => appendLine(path, sealedLine(this.#clean(json)), isSynced))
  }
}

export function newId(): string {
  return randomHex(systemClock, 16)
}
