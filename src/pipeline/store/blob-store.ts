import { constants, createReadStream } from 'node:fs'
import {
  access,
  chmod,
  chown,
  link,
  mkdir,
  open,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { removeLeftovers } from '../../files/atomic-file.ts'
import { readError, writeError } from '../../files/file-error.ts'
import { makeFolder, placeFile, syncFolder } from '../../files/write-target.ts'
import { digestPattern } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { makeStateFolder, namesIn } from '../state-folder.ts'
import { createNormaliser, digestOfBytes, type FileDigest } from './file-digest.ts'
import { copyWhole, syncFile, temporaryPath } from './safe-copy.ts'

/**
 * Bytes by their digests, in `FOLDER/ab/abcd…`. What lies there is trusted as far as it hashes to its name: a
 * blob that was changed, swapped or planted, and what is not a regular file, counts as absent, and is replaced when the
 * bytes come again. Outputs are copies, so that editing one leaves the blob as it is.
 */
export interface BlobStore {
  /** Whether the bytes are there, and right. */
  has(sha256: string): Promise<boolean>
  /** The absolute path of the bytes; undefined unless they are there, and right. */
  open(sha256: string): Promise<string | undefined>
  /**
   * Stores a file, or bytes. They are on the disk when this returns.
   * @param source an absolute path, or the bytes
   * @param isText whether it is stored with LF, as the digests of texts are of it
   * @throws FileError
   */
  add(source: string | Uint8Array, isText: boolean): Promise<FileDigest>
  /**
   * Stores a file that nobody changes any more, and which is removed soon: by a second name where the file system has
   * that, which saves a copy.
   * @throws FileError
   */
  share(path: string, isText: boolean): Promise<FileDigest>
  /** Stores a file that is about to be replaced, byte for byte. @throws FileError */
  putAside(path: string): Promise<FileDigest>
  /** All that is there, right or not, in the order of the digests. @throws FileError */
  list(): Promise<readonly StoredBlob[]>
  /** @throws FileError */
  remove(sha256: string): Promise<void>
}

export interface StoredBlob {
  readonly sha256: string
  readonly bytes: number
}

export interface BlobPlace {
  readonly root: string
  /** Called before the first blob is added. */
  makeRoot(): Promise<unknown>
  /** For whom all is that is made; else only the user may look into the folders. */
  readonly sharing?: Sharing | undefined
}

/** The permissions of folders and blobs that others share, and the id of their group. */
export interface Sharing {
  readonly folder: number
  readonly file: number
  readonly group: number
}

/** Opens what was put aside, or adopted, in a project. Nothing is made before something is added. */
export function openReplaced(context: FileContext, project: Project): BlobStore {
  const root = join(project.stateFolder, 'replaced')
  return openBlobs(context, { root, makeRoot: () => makeStateFolder(project, 'replaced') })
}

/** The path of a blob, whether it is there or not. */
export function blobPath(root: string, sha256: string): string {
  return join(root, sha256.slice(0, 2), sha256)
}

/** Opens a store in any folder. Nothing is made before something is added. */
export function openBlobs(context: FileContext, { root, makeRoot, sharing }: BlobPlace): BlobStore {
  const pathOf = (sha256: string) => blobPath(root, sha256)
  const made = new Map<string, Promise<void>>()

  async function openBlob(sha256: string): Promise<string | undefined> {
    if (!digestPattern.test(sha256)) return undefined
    const path = pathOf(sha256)
    return (await digestOfBytes(path))?.sha256 === sha256 ? path : undefined
  }

  async function prepare() {
    await makeRoot()
    await removeLeftovers(root, context.clock.now())
  }

  /** Makes a folder of the store once; after a failure, which may be over, whoever comes next makes it. */
  async function once(name: string, make: () => Promise<void>): Promise<void> {
    const making = made.get(name) ?? make()
    made.set(name, making)
    try {
      await making
    } catch (error) {
      if (made.get(name) === making) made.delete(name)
      throw error
    }
  }

  /** The new name survives a power failure, too. */
  async function makeShelf(shelf: string) {
    const path = join(root, shelf)
    if (sharing === undefined) await makeFolder(path)
    else await makeShared(path, temporaryPath(root, shelf), sharing)
    await syncFolder(root)
  }

  async function storing<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      await once('', prepare)
      return await work()
    } catch (error) {
      throw error instanceof ModelgateError ? error : writeError(error, root)
    }
  }

  async function add(source: string | Uint8Array, isText: boolean): Promise<FileDigest> {
    const temporary = temporaryPath(root, 'blob')
    try {
      await copyTo(temporary, source, isText)
      if (sharing !== undefined) await allow(temporary, sharing.file, sharing.group)
      const digest = await digestOfBytes(temporary)
      if (digest === undefined) throw new Error('it is gone')
      await keep(temporary, digest.sha256)
      return digest
    } finally {
      await unlink(temporary).catch(() => {})
    }
  }

  async function share(path: string, isText: boolean): Promise<FileDigest> {
    const digest = await digestOfBytes(path)
    const isStoredAsItIs = !isText || (await digestOfBytes(path, true))?.sha256 === digest?.sha256
    const temporary = temporaryPath(root, 'blob')
    if (digest === undefined || !isStoredAsItIs || !(await isLinked(path, temporary)))
      return await add(path, isText)
    try {
      // It costs little where the bytes are on the disk already.
      await syncFile(temporary)
      await keep(temporary, digest.sha256)
      return digest
    } finally {
      await unlink(temporary).catch(() => {})
    }
  }

  async function keep(temporary: string, sha256: string): Promise<void> {
    if ((await openBlob(sha256)) !== undefined) return
    const shelf = sha256.slice(0, 2)
    await once(shelf, () => makeShelf(shelf))
    const path = pathOf(sha256)
    // A file is replaced, a folder would be in the way.
    if ((await stat(path).catch(() => undefined))?.isDirectory()) await rm(path, { recursive: true })
    const target = {
      kind: 'file',
      folder: join(root, shelf),
      name: sha256,
      mode: undefined,
      force: true,
    } as const
    await placeFile(context, temporary, target, path)
  }

  return {
    open: openBlob,
    has: async (sha256) => (await openBlob(sha256)) !== undefined,
    add: (source, isText) => storing(() => add(source, isText)),
    share: (path, isText) => storing(() => share(path, isText)),
    putAside: (path) => storing(() => add(path, false)),
    async list() {
      const shelves = (await namesIn(root)).filter((name) => /^[0-9a-f]{2}$/.test(name)).sort()
      const blobs: StoredBlob[] = []
      for (const shelf of shelves) {
        const names = (await namesIn(join(root, shelf))).filter((name) => digestPattern.test(name)).sort()
        for (const sha256 of names.filter((name) => name.startsWith(shelf))) {
          const found = await stat(pathOf(sha256)).catch(() => undefined)
          blobs.push({ sha256, bytes: found?.isFile() ? found.size : 0 })
        }
      }
      return blobs
    },
    async remove(sha256) {
      if (!digestPattern.test(sha256)) return
      await rm(pathOf(sha256), { recursive: true, force: true }).catch((error: unknown) => {
        throw writeError(error, pathOf(sha256))
      })
    },
  }
}

/** Makes a folder that others may use as soon as they can see it. @param temporary its name until then */
async function makeShared(path: string, temporary: string, { folder, group }: Sharing): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return
  await mkdir(temporary)
  try {
    await allow(temporary, folder, group)
    await rename(temporary, path)
  } catch (error) {
    await rmdir(temporary).catch(() => {})
    // Somebody else has made it.
    if (!(await stat(path).catch(() => undefined))?.isDirectory()) throw error
  }
}

/** Best effort: some file systems of networks decide on permissions themselves. */
async function allow(path: string, mode: number, group: number): Promise<void> {
  // A copy has the group of its original, even in a folder that hands on its own.
  await chown(path, -1, group).catch(() => {})
  await chmod(path, mode).catch(() => {})
}

/** Gives a file a second name; not on another disk, nor where a file has one name only. */
async function isLinked(path: string, name: string): Promise<boolean> {
  return await link(path, name).then(
    () => true,
    () => false,
  )
}

/** The bytes are on the disk when it returns. */
async function copyTo(temporary: string, source: string | Uint8Array, isText: boolean): Promise<void> {
  if (typeof source !== 'string') {
    const normalise = createNormaliser({ crlf: isText, mark: false })
    await writeFile(temporary, normalise(Buffer.from(source), true), { flag: 'wx' })
    return await syncFile(temporary)
  }
  const path = await readablePath(source).catch((error: unknown) => {
    throw readError(error, source)
  })
  await (isText ? copyText : copyWhole)(path, temporary)
}

/** @returns the path without links @throws the error of the system when it is no file that can be read */
async function readablePath(source: string): Promise<string> {
  const found = await stat(source)
  if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
  if (!found.isFile()) throw new Error('it is not a regular file')
  await access(source, constants.R_OK)
  return await realpath(source)
}

async function copyText(source: string, temporary: string): Promise<void> {
  const normalise = createNormaliser({ crlf: true, mark: false })
  const handle = await open(temporary, 'wx')
  try {
    for await (const piece of createReadStream(source))
      await handle.appendFile(normalise(piece as Buffer, false))
    await handle.appendFile(normalise(Buffer.alloc(0), true))
    await handle.sync()
  } finally {
    await handle.close()
  }
}
