import { randomBytes } from 'node:crypto'
import { readFile, readdir, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileHost } from '../context.ts'
import { makeFolder, renameFile } from '../files/write-target.ts'

/** Suffix of temporary files, which other processes ignore. */
const temporaryName = /^\..+\.[\da-f]{16}\.tmp$/
/** A temporary file this old belongs to a process that was killed. */
const leftoverMs = 60_000

/**
 * A folder with one JSON file for each entry, which several sandboxes may share.
 * @param folder created with the first entry
 * @param host where a file that another sandbox is reading may have to be replaced more than once
 * @param parse converts the content of a file; throws if it is invalid
 */
export function createJsonFolder<Entry extends { readonly id: string }>(
  folder: string,
  parse: (value: unknown) => Entry,
  host: FileHost,
) {
  const pathOf = (id: string) => join(folder, `${id}.json`)

  /** The entry with that id; undefined if there is none or its file is invalid. */
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
    async list(): Promise<Entry[]> {
      const entries: Entry[] = []
      for (const name of await readdir(folder).catch(() => [])) {
        const [, id] = /^(\w+)\.json$/.exec(name) ?? []
        const entry = id === undefined ? undefined : await read(id)
        if (entry !== undefined) entries.push(entry)
      }
      return entries
    },
    /** Writes an entry atomically. Only the user may read it: it contains the prompt. @throws the error of the system */
    async write(entry: Entry) {
      await makeFolder(folder)
      const temporary = join(folder, `.${entry.id}.${randomBytes(8).toString('hex')}.tmp`)
      try {
        await writeFile(temporary, `${JSON.stringify(entry)}\n`, { flag: 'wx', mode: 0o600 })
        await renameFile(host, temporary, pathOf(entry.id))
      } catch (error) {
        await removeFile(temporary)
        throw error
      }
    },
    remove: async (id: string) => {
      if (isPlainId(id)) await removeFile(pathOf(id))
    },
    /** Removes temporary files of killed processes. Never throws. */
    async removeHalfWritten(now: number) {
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
function isPlainId(id: string): boolean {
  return /^\w{1,100}$/.test(id)
}

function removeFile(path: string): Promise<void> {
  return unlink(path).catch(() => {})
}
