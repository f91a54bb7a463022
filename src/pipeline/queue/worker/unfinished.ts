import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { randomHex, type Context, type FileHost, type Timer } from '../../../context.ts'
import { asModelgateError, billedOf, ModelgateError, type ExitName } from '../../../errors.ts'
import { systemCode, writeError } from '../../../files/file-error.ts'
import { parseJson } from '../../../files/parse-json.ts'
import { makeFolder } from '../../../files/write-target.ts'
import { objectOf, stringOf } from '../../../json.ts'
import { startedJobs } from '../../execute/started-jobs.ts'
import { recoverResult } from '../../execute/task-record.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import { heartbeatMs, isLiving, ownRecord, readRecord, touch, writeRecord } from '../../journal/owner.ts'
import { lanes, type Lane } from '../../manifest/manifest.ts'
import { projectOf } from '../../project.ts'
import { namesIn, readStateFile } from '../../state-folder.ts'
import { decodeTask, taskOf } from '../message.ts'
import { stateOf, type Handled, type TaskJob } from '../queue-server.ts'
import { handIn, writeState } from './hand-in.ts'
import { leftHere, over, type Delivery, type Worker } from './worker-context.ts'

/** The folder of one task. */
export interface TaskFolder {
  /** What the request needs: its inputs. */
  readonly path: string
  readonly made: string
}

/** What is written down of a task before it is sent, so that a later process can tell what has come of it. */
interface Note {
  readonly lane: Lane
  readonly id: string
  readonly attempt: string
  readonly message: string
}

const noteName = 'task.json'

/** Makes the folder of a task, with a note of it. @throws FileError */
function makeTaskFolder(ownFolder: string, lane: Lane, job: TaskJob): TaskFolder {
  const { attempt } = stateOf(job)
  const path = join(ownFolder, 'work', attempt)
  const note: Note = { lane, id: job.id!, attempt, message: job.data.message }
  try {
    // At once, which is faster than in another thread.
    mkdirSync(path, { recursive: true, mode: 0o700 })
    writeFileSync(join(path, noteName), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    throw writeError(error, path).amend({ billed: 'no' })
  }
  return { path, made: join(path, 'made') }
}

/** Never throws. */
function removeFolder(path: string): void {
  try {
    // At once, which takes a fourth of the processor's time.
    rmSync(path, { recursive: true, force: true })
  } catch {}
}

/** Keeps the files of a request that failed: they may have been paid for. Never throws. */
export async function keepWhatCame(worker: Worker, { made }: TaskFolder, name: string): Promise<void> {
  if ((await readdir(made).catch(() => [])).length === 0) return
  try {
    const kept = await keepFolder(join(worker.folder, 'kept'), made, name)
    worker.warn(`Files from the failed request are kept in ${kept}.`)
  } catch (error) {
    worker.warn(`Files from the failed request are lost: ${asModelgateError(error, false).message}`)
  }
}

/** @returns where it is now: with a number where an earlier attempt has left something of this name. @throws FileError */
async function keepFolder(place: string, path: string, name: string): Promise<string> {
  await makeFolder(place).catch((error: unknown) => {
    throw writeError(error, place)
  })
  for (let number = 1; ; number++) {
    const kept = join(place, number === 1 ? name : `${name}-${number}`)
    try {
      await rename(path, kept)
      return kept
    } catch (error) {
      const code = systemCode(error)
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw writeError(error, kept)
    }
  }
}

/** The folders of tasks that a process has left, each with its note; those without one hold nothing that counts. */
export async function notesIn(
  ownFolder: string,
): Promise<{ readonly folder: TaskFolder; readonly note: Note }[]> {
  const work = join(ownFolder, 'work')
  const found: { folder: TaskFolder; note: Note }[] = []
  for (const name of await readdir(work).catch((): string[] => [])) {
    const path = join(work, name)
    const bytes = await readStateFile(join(path, noteName)).catch(() => undefined)
    const note = bytes === undefined ? undefined : noteFrom(parseJson(bytes.toString()).value)
    if (note !== undefined) found.push({ folder: { path, made: join(path, 'made') }, note })
  }
  return found
}

function noteFrom(value: unknown): Note | undefined {
  const { lane, id, attempt, message } = objectOf(value)
  const known = lanes.find((name) => name === lane)
  const [own, sent, text] = [stringOf(id), stringOf(attempt), stringOf(message)]
  if (known === undefined || own === undefined || sent === undefined || text === undefined) return undefined
  return { lane: known, id: own, attempt: sent, message: text }
}

/**
 * Tells the run what processes of this machine have left: results that are whole, and the ids of remote jobs that are on
 * record under the key of their request. What is nothing of that is removed. Never throws.
 * @param path of such a process
 */
export async function recordLeftovers(worker: Worker, path: string): Promise<void> {
  const { context, redactor, server, stop } = worker
  try {
    const jobs = await startedJobs(context, { stateFolder: path }, redactor)
    let isLeft = false
    for (const { folder, note } of await notesIn(path)) {
      const job = await worker.ask(stop.closing, () => server.find(note.lane, note.id))
      const state = job === undefined ? undefined : stateOf(job)
      if (job === undefined || state?.attempt !== note.attempt || state.outcome !== null) continue
      const message = decodeTask(note.message)
      const left = await recoverResult(context, { ...taskOf(message, {}), folder: folder.made })
      const started = jobs.get(message.idempotency_key)
      if (left !== undefined) {
        const result = { ...left.result, job_id: left.result.job_id ?? state.job?.id ?? null }
        isLeft = (await handIn(worker, job, message, { ...left, result })) === leftHere || isLeft
      } else if (started !== undefined && state.job === null) {
        const since = context.clock.now()
        await writeState(worker, job, { ...state, job: { ...started, since } })
      }
    }
    if (!isLeft) removeFolder(path)
  } catch (error) {
    if (stop.closing.aborted) return
    const { message } = asModelgateError(error, false)
    worker.warn(`What an earlier worker left in ${path} could not be recorded: ${message}`)
  }
}

/** Works in a folder of the task's own, which is removed afterwards, unless its files are left here. */
export async function inFolder(
  worker: Worker,
  { lane, job }: Pick<Delivery, 'lane' | 'job'>,
  work: (folder: TaskFolder) => Promise<Handled>,
): Promise<Handled> {
  const folder = makeTaskFolder(worker.ownFolder, lane, job)
  let handled: Handled = over
  try {
    handled = await work(folder)
    return handled
  } finally {
    if (handled !== leftHere) removeFolder(folder.path)
  }
}

/**
 * Whether an error says something of the worker alone: it was stopped, has no valid key, has reached its own limit, or had a
 * disk that takes nothing before anything was sent.
 */
export function isOfWorker(error: ModelgateError): boolean {
  return workerExits.has(error.exit) || (error.exit === 'io' && billedOf(error) === 'no')
}

const workerExits: ReadonlySet<ExitName> = new Set([
  'interrupt',
  'hangup',
  'terminate',
  'ok',
  'key',
  'limit',
  'bug',
])

/** How the requests of a task are executed: its folder is the project's. */
export function executeCall(
  { context, shared, redactor, isSandbox, ownFolder, stop }: Worker,
  path: string,
): ExecuteCall {
  return {
    ...shared,
    gateway: { ...shared.gateway, signal: stop.inFlight },
    context: { ...context, cwd: path, signal: stop.inFlight },
    project: { ...projectOf(join(path, 'modelgate.yaml'), isSandbox), stateFolder: ownFolder },
    redactor,
    timeoutMs: undefined,
  }
}

/** The folder of one worker, and what others have left. */
export interface OwnFolder {
  readonly path: string
  /** Folders of workers that have died, or left something; they are this one's now. */
  readonly adopted: readonly string[]
  /** @param isLeft whether the folder holds what the next worker is to take up */
  release(isLeft: boolean): Promise<void>
}

const id = '[0-9a-f]{16}'
const folderPattern = new RegExp(`^(${id})(?:\\.\\d+)?$`)

/**
 * Makes a folder of its own for this process, and adopts those whose owners are dead. `ID.owner` tells who has the folders `ID`
 * and `ID.1`, `ID.2`, …, which were adopted; a folder without that file belongs to whoever renames it.
 * @param folder for the workers of this machine
 * @throws FileError
 */
export async function openOwnFolder(
  folder: string,
  context: FileHost & Pick<Context, 'processes'>,
): Promise<OwnFolder> {
  const { clock, processes } = context
  try {
    await makeFolder(folder)
    const own = await ownRecord(processes)
    const name = randomHex(clock, 16)
    const ownerPath = join(folder, `${name}.owner`)
    await writeRecord(context, ownerPath, own)
    const living = new Set([name])
    for (const other of await namesIn(folder)) {
      if (!other.endsWith('.owner')) continue
      const owner = await readRecord(join(folder, other))
      if (owner === undefined) continue
      if (await isLiving(owner, own, context)) living.add(other.slice(0, -'.owner'.length))
      else await unlink(owner.path).catch(() => {})
    }
    const path = join(folder, name)
    await makeFolder(path)
    const adopted: string[] = []
    for (const other of await namesIn(folder)) {
      const [, owner] = folderPattern.exec(other) ?? []
      if (owner === undefined || living.has(owner)) continue
      const adoptedPath = `${path}.${adopted.length + 1}`
      // Of two that try, one does it.
      const isMine = await rename(join(folder, other), adoptedPath).then(
        () => true,
        () => false,
      )
      if (isMine) adopted.push(adoptedPath)
    }
    let timer: Timer | undefined
    const beat = async () => {
      await touch(ownerPath, clock.now()).catch(() => {})
      if (timer !== undefined) schedule()
    }
    const schedule = () => {
      timer = clock.timer(heartbeatMs, () => void beat(), 'background')
    }
    schedule()
    return {
      path,
      adopted,
      async release(isLeft) {
        timer?.cancel()
        timer = undefined
        if (!isLeft) removeFolder(path)
        await unlink(ownerPath).catch(() => {})
        // The folders of the queue, if nothing is in them.
        if ((await readdir(folder).catch(() => ['?'])).length === 0) await rmdir(folder).catch(() => {})
      },
    }
  } catch (error) {
    throw error instanceof ModelgateError ? error : writeError(error, folder).amend({ billed: 'no' })
  }
}
