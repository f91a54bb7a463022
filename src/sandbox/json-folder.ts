import { randomBytes } from 'node:crypto'
import { readFile, readdir, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileHost } from '../context.ts'
import { makeFolder, renameFile } from '../files/write-target.ts'

/** A folder with one JSON file for each entry, which several sandboxes may share. */
export interface JsonFolder<Entry> {
  /** The entry with that id; undefined if there is none or its file is invalid. */
  read(id: string): Promise<Entry | undefined>
  list(): Promise<Entry[]>
  /** Writes an entry atomically. Only the user may read it: it contains the prompt. @throws the error of the system */
  write(entry: Entry): Promise<void>
  /** @returns false when there was none */
  remove(id: string): Promise<boolean>
  /** Removes temporary files of killed processes. Never throws. */
  removeHalfWritten(now: number): Promise<void>
}

/** Suffix of temporary files, which other processes ignore. */
const temporaryName = /^\..+\.[\da-f]{16}\.tmp$/
/** A temporary file this old belongs to a process that was killed. */
const leftoverMs = 60_000

/**
 * @param folder created with the first entry
 * @param host where a file that another sandbox is reading may have to be replaced more than once
 * @param parse converts the content of a file; throws if it is invalid
 */
export function createJsonFolder<Entry extends { readonly id: string }>(
  folder: string,
  parse: (value: unknown) => Entry,
  host?: FileHost,
): JsonFolder<Entry> {
  const pathOf = (id: string) => join(folder, `${id}.json`)

  async function read(id: string): Promise<Entry | undefined> {
    if (!isPlainId(id)) return undefined
    try {
      const entry = parse(JSON.parse(await readFile(pathOf(id), 'utf8')))
      return entry.id === id ? entry : undefined
    } catch {
      return undefined
    }
  }

  return {
    read,
    async list() {
      const entries: Entry[] = []
      for (const name of await readdir(folder).catch(() => [])) {
        const [, id] = /^(\w+)\.json$/.exec(name) ?? []
        const entry = id === undefined ? undefined : await read(id)
        if (entry !== undefined) entries.push(entry)
      }
      return entries
    },
    async write(entry) {
      await makeFolder(folder)
      const temporary = join(folder, `.${entry.id}.${randomBytes(8).toString('hex')}.tmp`)
      try {
        await writeFile(temporary, `${JSON.stringify(entry)}\n`, { flag: 'wx', mode: 0o600 })
        await renameFile(host, temporary, pathOf(entry.id))
      } catch (error) {
        await unlink(temporary).catch(() => {})
        throw error
      }
    },
    remove: async (id) => isPlainId(id) && removeFile(pathOf(id)),
    async removeHalfWritten(now) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (!temporaryName.test(name)) continue
        const path = join(folder, name)
        const found = await stat(path).catch(() => undefined)
        if (found !== undefined && now - found.mtimeMs > leftoverMs) await removeFile(path)
      }
    },
  }
}

/** Whether an id is safe in a file name, as those of the sandbox are. */
export function isPlainId(id: string): boolean {
  return /^\w{1,100}$/.test(id)
}

function removeFile(path: string): Promise<boolean> {
  return unlink(path).then(
    () => true,
    () => false,
  )
}
