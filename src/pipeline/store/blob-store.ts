import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import {
  access,
  appendFile,
  chmod,
  chown,
  readFile,
  realpath,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError, UsageError } from '../../errors.ts'
import { removeLeftovers } from '../../files/atomic-file.ts'
import { cannotRead, shownPath, writeError } from '../../files/file-error.ts'
import { withLineFeeds } from '../../files/input-file.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder, renameFile, syncFolder } from '../../files/write-target.ts'
import { countOf, objectOf, stringOf } from '../../json.ts'
import { digestPattern, type OutputFacts } from '../lock/lock-block.ts'
import { makeStateFolder, namesIn, type Project } from '../project.ts'
import {
  copyWhole,
  digestOfFile,
  digestOfStateFile,
  isTextType,
  temporaryPath,
  type FileDigest,
} from './file-digest.ts'

/** A folder or a bucket that the machines of a queue share. Bytes that do not hash to their name count as absent. */
export interface SharedStore {
  /** Without secrets. */
  readonly shown: string
  /** The bytes are safe when this returns, which is false when they were there. @throws FileError; ModelgateError */
  put(source: BlobSource, sha256: string): Promise<boolean>
  /**
   * The file appears whole, and replaces one that is there. @returns false when the store does not have the bytes
   * @param maxBytes more count as others; `maxBlobBytes` unless given @throws FileError; ModelgateError
   */
  fetch(sha256: string, path: string, maxBytes?: number): Promise<boolean>
}

export type BlobSource = string | Buffer

export type ByteSource = Pick<SharedStore, 'shown' | 'fetch'>

/** The most that one blob may have, in bytes: what S3 takes in one request. */
export const maxBlobBytes = 5 * 1024 ** 3

export function blobPath(root: string, sha256: string): string {
  return join(root, sha256.slice(0, 2), sha256)
}

/**
 * Bytes by their digests, in `FOLDER/ab/abcd…`. What was changed, swapped or planted, and what is no regular file,
 * counts as absent. Outputs are copies: editing one leaves the blob.
 */
export class BlobStore {
  protected readonly context: FileContext
  protected readonly root: string
  readonly #shared: Stats | undefined
  #prepared: Promise<void> | undefined
  readonly #shelves = new Set<string>()

  /** @param shared the folder, if others use it: all that is made gets its group and permissions */
  constructor(context: FileContext, root: string, shared?: Stats) {
    this.context = context
    this.root = root
    this.#shared = shared
  }

  protected async makeRoot(): Promise<void> {}

  async open(sha256: string): Promise<string | undefined> {
    const path = blobPath(this.root, sha256)
    const found = await digestOfStateFile(path, false).catch(() => undefined)
    return found?.sha256 === sha256 ? path : undefined
  }

  /** The bytes are on the disk when this returns. @param isText whether they are stored with LF, as texts are hashed */
  async add(source: BlobSource, isText: boolean): Promise<FileDigest> {
    return await this.#withTemporary(async (temporary) => {
      await copyTo(temporary, source, isText)
      const digest = await digestOfFile(temporary, false)
      if (digest === undefined) throw new Error('it is gone')
      if ((await this.open(digest.sha256)) === undefined) await this.#place(temporary, digest.sha256)
      return digest
    })
  }

  /** @param write writes bytes from elsewhere into a file, and has checked them; false when there are none */
  async receive(sha256: string, write: (path: string) => Promise<boolean>): Promise<boolean> {
    return await this.#withTemporary(async (temporary) => {
      if (!(await write(temporary))) return false
      await this.#place(temporary, sha256)
      return true
    })
  }

  async #withTemporary<Value>(work: (temporary: string) => Promise<Value>): Promise<Value> {
    const temporary = temporaryPath(join(this.root, 'blob'))
    try {
      await this.#prepare()
      return await work(temporary)
    } catch (error) {
      throw writeError(error, this.root)
    } finally {
      await unlink(temporary).catch(() => {})
    }
  }

  /** All that is there, right or not, in the order of the digests. */
  async list() {
    const blobs: { sha256: string; path: string; bytes: number }[] = []
    for (const shelf of (await namesIn(this.root)).sort()) {
      for (const sha256 of (await namesIn(join(this.root, shelf))).sort()) {
        if (!digestPattern.test(sha256) || !sha256.startsWith(shelf)) continue
        const path = blobPath(this.root, sha256)
        const found = await stat(path).catch(() => undefined)
        blobs.push({ sha256, path, bytes: found?.isFile() ? found.size : 0 })
      }
    }
    return blobs
  }

  async #prepare(): Promise<void> {
    this.#prepared ??= this.makeRoot().then(() => removeLeftovers(this.root))
    await this.#prepared.catch((error: unknown) => {
      this.#prepared = undefined
      throw error
    })
  }

  async #place(temporary: string, sha256: string): Promise<void> {
    const shelf = join(this.root, sha256.slice(0, 2))
    if (!this.#shelves.has(shelf)) {
      await makeFolder(shelf)
      await this.#share(shelf, 0o7777)
      // The new name survives a power failure, too.
      await syncFolder(this.root)
      this.#shelves.add(shelf)
    }
    await this.#share(temporary, 0o666)
    const path = blobPath(this.root, sha256)
    // A file is replaced, a folder would be in the way.
    if ((await stat(path).catch(() => undefined))?.isDirectory()) await rm(path, { recursive: true })
    await renameFile(this.context, temporary, path)
    await syncFolder(shelf)
  }

  /** Best effort: some file systems of networks decide on permissions themselves. */
  async #share(path: string, permissions: number): Promise<void> {
    if (this.#shared === undefined) return
    // A copy has the group of its original, even in a folder that hands on its own.
    await chown(path, -1, this.#shared.gid).catch(() => {})
    await chmod(path, this.#shared.mode & permissions).catch(() => {})
  }
}

async function copyTo(temporary: string, source: BlobSource, isText: boolean): Promise<void> {
  if (typeof source !== 'string') return await writeFile(temporary, source, { flag: 'wx', flush: true })
  const path = await access(source, constants.R_OK)
    .then(() => realpath(source))
    .catch(cannotRead(source))
  if (isText) await copyTo(temporary, withLineFeeds(await readFile(path)), false)
  else await copyWhole(path, temporary)
}

export function sourceChanged(source: BlobSource): FileError {
  const what = typeof source === 'string' ? shownPath(source) : 'It'
  return new FileError('source_changed', `${what} has changed since it was first read.`, {
    phase: 'input',
    billed: 'no',
    hint: 'Run it again once the file is complete.',
  })
}

/** @param problem a sentence; the location may hold a secret, so it is not shown */
export function invalidStore(problem: string, hint: string): UsageError {
  return new UsageError(problem, { code: 'config_invalid', phase: 'config', hint })
}

export interface ReplacedFile {
  readonly at: number
  readonly sha256: string
  /** The path below the output folder; of a file of a result the instance that it was made for. */
  readonly name: string
}

/** Files that were put aside, or adopted, and a list of whose they were. */
export class Replaced extends BlobStore {
  readonly #project: Project

  constructor(context: FileContext, project: Project) {
    super(context, join(project.stateFolder, 'replaced'))
    this.#project = project
  }

  protected override async makeRoot(): Promise<void> {
    await makeStateFolder(this.#project, 'replaced')
  }

  get #list(): string {
    return join(this.root, 'list.jsonl')
  }

  /** @param isText whether it is stored with LF @param instance that it was made for, if it was no output */
  async putAside(path: string, isText = false, instance?: string): Promise<FileDigest> {
    const digest = await this.add(path, isText)
    const name = instance ?? relative(this.#project.outputFolder, path).replaceAll(sep, '/')
    const entry: ReplacedFile = { at: this.context.clock.now(), sha256: digest.sha256, name }
    // Without it the bytes are there all the same.
    await appendFile(this.#list, `${JSON.stringify(entry)}\n`, { mode: 0o600 }).catch(() => {})
    return digest
  }

  /** In the order of time; what a damaged line says is left out. */
  async listOf(names: ReadonlySet<string>): Promise<readonly ReplacedFile[]> {
    const text = await readFile(this.#list, 'utf8').catch(() => '')
    return text.split('\n').flatMap((line) => {
      const value = objectOf(parseJson(line).value)
      const [at, sha256, name] = [countOf(value['at']), stringOf(value['sha256']), stringOf(value['name'])]
      if (at === null || sha256 === undefined || name === undefined || !names.has(name)) return []
      return [{ at, sha256, name }]
    })
  }

  /** Git LFS commits a pointer, not the bytes. @param revisions in order: `HEAD`, or `:2` for a side of a conflict */
  async takeFromGit(facts: OutputFacts, revisions: readonly string[]): Promise<string | undefined> {
    const { path, sha256, bytes: size, media_type } = facts
    const isText = isTextType(media_type)
    // Each line of a text may have been committed with a CR.
    const maxBytes = Math.min(maxObjectBytes, isText ? 2 * size : size)
    for (const revision of revisions) {
      const object = await gitObject(this.#project.outputFolder, `${revision}:./${path}`, maxBytes)
      const bytes = object && (isText ? withLineFeeds(object) : object)
      if (bytes === undefined || hash('sha256', bytes) !== sha256) continue
      await this.add(bytes, false)
      return await this.open(sha256)
    }
    return undefined
  }
}

const maxObjectBytes = 1024 ** 3

/** One call may fetch objects that a partial clone has left out. */
const timeLimit = 60_000

/** Without a shell. @returns its exit code, undefined where it was not found, took too long, or printed too much */
export async function git(folder: string, words: readonly string[], maxBytes = maxObjectBytes) {
  const options = { cwd: folder, encoding: 'buffer', maxBuffer: maxBytes, timeout: timeLimit } as const
  const { promise, resolve } = Promise.withResolvers<{
    code: number | undefined
    stdout: Buffer
    message: string
  }>()
  execFile('git', words, options, (error, stdout, said) => {
    const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined
    resolve({ code, stdout, message: said.toString().trim() || (code === undefined ? error!.message : '') })
  })
  return await promise
}

/** Undefined where there is none, where it has more bytes, and without Git. @param name as Git takes it: `HEAD:./a.png` */
export async function gitObject(folder: string, name: string, maxBytes = maxObjectBytes) {
  const { code, stdout } = await git(folder, ['cat-file', 'blob', name], maxBytes)
  return code === 0 ? stdout : undefined
}
