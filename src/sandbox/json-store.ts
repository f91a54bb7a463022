import { randomBytes } from 'node:crypto'
import { readFile, readdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileHost } from '../context.ts'
import { makeFolder, renameFile } from '../files/write-target.ts'
import { objectOf, tryJson } from '../json.ts'
import { createBoundedMap } from './bounded-map.ts'

/** Safe in a file name, as those of the sandbox are. */
const plainId = /^\w{1,100}$/

interface StoreOptions<Entry> {
  /** One JSON file for each entry, shared with other sandboxes; created with the first. Undefined: memory only. */
  readonly folder: string | undefined
  isEntry(value: Partial<Entry>): boolean
  isOver(entry: Entry, now: number): boolean
  /** In memory. */
  readonly maxEntries: number
  readonly maxBytes?: number
}

/** Keeps entries by their ids, in memory or in a folder. What cannot be written to the folder is kept in memory. */
export function createJsonStore<Entry extends { readonly id: string }>(
  host: FileHost,
  { folder, isEntry, isOver, maxEntries, maxBytes }: StoreOptions<Entry>,
) {
  const { clock } = host
  const inMemory = createBoundedMap<Entry>(maxEntries, maxBytes)
  const pathOf = (id: string) => join(folder ?? '', `${id}.json`)

  async function read(id: string): Promise<Entry | undefined> {
    if (folder === undefined || !plainId.test(id)) return undefined
    const text = await readFile(pathOf(id), 'utf8').catch(() => '')
    const entry = objectOf(tryJson(text)) as Partial<Entry>
    return entry.id === id && isEntry(entry) ? (entry as Entry) : undefined
  }

  /** Writes an entry atomically. Only the user may read it: it contains the prompt. */
  async function write(entry: Entry): Promise<void> {
    await makeFolder(folder!)
    const temporary = join(folder!, `.${entry.id}.${randomBytes(8).toString('hex')}.tmp`)
    try {
      await writeFile(temporary, `${JSON.stringify(entry)}\n`, { flag: 'wx', mode: 0o600 })
      await renameFile(host, temporary, pathOf(entry.id))
    } catch (error) {
      await unlink(temporary).catch(() => {})
      throw error
    }
  }

  async function remove(id: string): Promise<void> {
    if (!inMemory.delete(id) && folder !== undefined && plainId.test(id))
      await unlink(pathOf(id)).catch(() => {})
  }

  return {
    remove,
    /** Makes ids differ from those of other sandboxes with the same folder. */
    salt: () => (folder === undefined ? [] : [clock.now(), clock.random()]),
    find: async (id: string) => inMemory.get(id) ?? (await read(id)),
    memory: inMemory,
    /** @param bytes of the entry, where those in memory are limited; `inMemoryOnly` keeps it out of the folder */
    async keep(entry: Entry, { bytes = 0, inMemoryOnly = false } = {}): Promise<void> {
      const keepInMemory = () => inMemory.set(entry.id, entry, bytes)
      if (folder === undefined || inMemoryOnly) keepInMemory()
      else await write(entry).catch(keepInMemory)
    },
    /** Removes those that are over. Never throws. */
    async list(): Promise<Entry[]> {
      const now = clock.now()
      const names = folder === undefined ? [] : await readdir(folder).catch(() => [])
      const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))
      const stored = await Array.fromAsync(ids, read)
      const found = [...inMemory.values(), ...stored.filter((entry) => entry !== undefined)]
      for (const { id } of found.filter((entry) => isOver(entry, now))) await remove(id)
      return found.filter((entry) => !isOver(entry, now))
    },
  }
}
