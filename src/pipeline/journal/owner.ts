import { readdir, readFile, readlink, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { randomHex, sleep, type Clock, type Context, type FileHost, type Timer } from '../../context.ts'
import { FileError, UsageError } from '../../errors.ts'
import { shownPath, systemCode, writeError } from '../../files/file-error.ts'
import { parseJson } from '../../files/parse-json.ts'
import { renameFile } from '../../files/write-target.ts'
import { numberOf, objectOf, stringOf } from '../../json.ts'
import { makeStateFolder, readStateFile, type Project } from '../project.ts'
import { runsFolder } from './journal.ts'

export type Ownership = ReturnType<typeof hold>

type OwnerContext = FileHost & Pick<Context, 'processes'>

/**
 * Makes this process the owner of a manifest, after a dead one at once. Every candidate has a file of its own. It looks
 * whether another one lives, adds its file, and looks again: of two that do so at once, at least one sees the other and
 * withdraws. @throws UsageError `run_owned` that names the living owner; FileError
 */
export async function takeOwnership(project: Project, context: OwnerContext): Promise<Ownership> {
  const { clock, processes } = context
  const folder = runsFolder(project)
  const name = basename(project.manifestPath)
  const id = processes.own
  const own = { process: id, started: await startOf(id), host: hostname(), machine: await thisMachine() }
  let followsDeath = false
  const findLiving = async (ownPath?: string): Promise<FoundOwner | undefined> => {
    for (const other of await readdir(folder)) {
      const path = join(folder, other)
      const isOwner = other.startsWith(`${name}.`) && ownerEnding.test(other.slice(name.length))
      const owner = isOwner && path !== ownPath ? await readRecord(path) : undefined
      if (owner === undefined) continue
      if (!(await isLiving(owner, own, context))) {
        followsDeath = true
        await unlink(path).catch(() => {})
      }
      // Before the file has its name, its process owns nothing.
      else if (!other.endsWith('.new')) return owner
    }
    return undefined
  }
  try {
    await makeStateFolder(project, 'runs')
    for (;;) {
      const living = await findLiving()
      if (living !== undefined) throw owned(name, living, own, clock.now())
      const path = join(folder, `${name}.${randomHex(clock, 16)}.owner`)
      let isAlone = false
      try {
        await writeRecord(context, path, own)
        isAlone = (await findLiving(path)) === undefined
      } finally {
        for (const left of isAlone ? [] : [path, `${path}.new`]) await unlink(left).catch(() => {})
      }
      if (isAlone) return hold(path, clock, followsDeath)
      await sleep(clock, 10 + clock.random() * 100)
    }
  } catch (error) {
    const known = writeError(error, folder)
    throw known.amend({ billed: 'no' })
  }
}

const ownerEnding = /^\.[0-9a-f]{16}\.owner(?:\.new)?$/

function hold(path: string, clock: Clock, followsDeath: boolean) {
  const lost = new AbortController()
  let timer: Timer | undefined
  const beat = async () => {
    try {
      await touch(path, clock.now())
    } catch (error) {
      if (systemCode(error) === 'ENOENT') {
        const text = `Another process has taken over this run: ${shownPath(path)} is gone.`
        const hint = 'That process continues the run. This one was silent for too long.'
        return lost.abort(new FileError('run_owned', text, { billed: 'no', hint }))
      }
    }
    if (timer !== undefined) schedule()
  }
  const schedule = () => {
    timer = clock.timer(heartbeatMs, () => void beat(), 'background')
  }
  schedule()
  return {
    /** Aborted when another process has taken it over: nothing more may be sent. */
    lost: lost.signal,
    /** Whether the owner before died, and may have left what it did not get to complete. */
    followsDeath,
    /** Never throws: the file of a process that has ended does no harm. */
    async release(): Promise<void> {
      timer?.cancel()
      timer = undefined
      await unlink(path).catch(() => {})
    },
  }
}

function owned(name: string, owner: FoundOwner, own: OwnerRecord, now: number): UsageError {
  const isHere = isOfSameMachine(owner, own)
  const silentS = Math.max(0, Math.round((now - owner.heartbeat) / 1000))
  const where = isHere
    ? 'on this machine'
    : `on ${owner.host || 'another machine'}, last seen ${silentS} s ago`
  const message = `${shownPath(name)} is already being run by process ${owner.process} ${where}.`
  const hint = isHere
    ? 'Wait for it to end, or stop it.'
    : `Wait until it has ended; if it was killed, it is taken over after ${silenceMs / 1000} s of silence. If it has ended and its clock is ahead, remove ${shownPath(owner.path)}.`
  return new UsageError(message, { code: 'run_owned', hint })
}

const heartbeatMs = 10_000
/** Without a heartbeat for this long, a process on another machine is taken for dead. */
const silenceMs = 60_000

/** What an owner file says; its modification time is the last heartbeat. */
interface OwnerRecord {
  readonly process: number
  /** In ticks since the system started: ids of processes are used again. */
  readonly started: string | null
  readonly host: string
  /** Distinguishes systems and containers of one name, in which an id means another process. */
  readonly machine: string | null
}

function isOfSameMachine(one: OwnerRecord, other: OwnerRecord): boolean {
  return one.host === other.host && one.machine === other.machine
}

interface FoundOwner extends OwnerRecord {
  readonly path: string
  readonly heartbeat: number
}

async function isLiving(owner: FoundOwner, own: OwnerRecord, { clock, processes }: OwnerContext) {
  if (!isOfSameMachine(owner, own)) return clock.now() - owner.heartbeat < silenceMs
  if (!processes.isRunning(owner.process)) return false
  return own.started === null || (await startOf(owner.process)) === owner.started
}

/** The file appears under its name with all that it holds, or not at all. */
async function writeRecord(host: FileHost, path: string, record: OwnerRecord): Promise<void> {
  const temporary = `${path}.new`
  await writeFile(temporary, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: 0o600 })
  await touch(temporary, host.clock.now())
  await renameFile(host, temporary, path)
}

async function readRecord(path: string): Promise<FoundOwner | undefined> {
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

async function touch(path: string, now: number): Promise<void> {
  await utimes(path, now / 1000, now / 1000)
}

/** Null where the system does not say it, and for a process that has ended and still has its id. */
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
