import { open, readFile, readlink, stat, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Context, FileHost, Processes } from '../../context.ts'
import { systemCode } from '../../files/file-error.ts'
import { parseJson } from '../../files/parse-json.ts'
import { renameFile } from '../../files/write-target.ts'
import { numberOf, objectOf, stringOf } from '../../json.ts'
import { readStateFile } from '../state-folder.ts'

/** How often a process shows that it lives, by `touch`. */
export const heartbeatMs = 10_000
/** Without a heartbeat for so long, a process on another machine is taken to be dead. */
export const silenceMs = 60_000

/** What an owner file says; its modification time is the last heartbeat. */
export interface OwnerRecord {
  readonly process: number
  /** When it started, in ticks since the system did: ids of processes are used again. Null where nobody tells. */
  readonly started: string | null
  readonly host: string
  /** Tells systems and containers of one name apart, in which an id means another process. Null where nobody tells. */
  readonly machine: string | null
}

/** What the file of this process says. */
export async function ownRecord(processes: Processes): Promise<OwnerRecord> {
  return {
    process: processes.own,
    started: await startOf(processes.own),
    host: hostname(),
    machine: await thisMachine(),
  }
}

/** The owner of a file as it is read. */
export interface FoundOwner extends OwnerRecord {
  /** Its file. */
  readonly path: string
  /** Milliseconds since 1970. */
  readonly heartbeat: number
}

/** Whether the process of a file is there still. */
export async function isLiving(
  owner: FoundOwner,
  own: OwnerRecord,
  { clock, processes }: Pick<Context, 'clock' | 'processes'>,
): Promise<boolean> {
  if (owner.host !== own.host || owner.machine !== own.machine)
    return clock.now() - owner.heartbeat < silenceMs
  if (!processes.isRunning(owner.process)) return false
  return own.started === null || (await startOf(owner.process)) === owner.started
}

/** The file appears under its name with all that it holds, or not at all. @throws the error of the system */
export async function writeRecord(host: FileHost, path: string, record: OwnerRecord): Promise<void> {
  const temporary = `${path}.new`
  const handle = await open(temporary, 'wx', 0o600)
  try {
    try {
      await handle.writeFile(`${JSON.stringify(record)}\n`)
    } finally {
      await handle.close()
    }
    await touch(temporary, host.clock.now())
    await renameFile(host, temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/** @returns undefined when it is gone */
export async function readRecord(path: string): Promise<FoundOwner | undefined> {
  try {
    const heartbeat = (await stat(path)).mtimeMs
    const bytes = await readStateFile(path)
    if (bytes === undefined) return undefined
    const record = objectOf(parseJson(bytes.toString()).value)
    return {
      path,
      process: numberOf(record['process']) ?? 0,
      started: stringOf(record['started']) ?? null,
      host: stringOf(record['host']) ?? '',
      machine: stringOf(record['machine']) ?? null,
      heartbeat,
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Shows that the process of a file lives. */
export async function touch(path: string, now: number): Promise<void> {
  await utimes(path, now / 1000, now / 1000)
}

/** When a process started, where the system tells it; null also for one that has ended and still has its id. */
async function startOf(id: number): Promise<string | null> {
  const text = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '')
  // The name in parentheses may hold anything.
  const [state = 'X', ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return 'ZX'.includes(state) ? null : (fields[18] ?? null)
}

async function thisMachine(): Promise<string | null> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => undefined)
  const namespace = await readlink('/proc/self/ns/pid').catch(() => undefined)
  return boot === undefined || namespace === undefined ? null : `${boot.trim()} ${namespace}`
}
