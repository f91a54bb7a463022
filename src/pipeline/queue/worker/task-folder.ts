import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode, writeError } from '../../../files/file-error.ts'
import { parseJson } from '../../../files/parse-json.ts'
import { makeFolder } from '../../../files/write-target.ts'
import { isObject, stringOf } from '../../../json.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import { projectOf, type Project } from '../../project.ts'
import { readStateFile } from '../../state-folder.ts'
import type { TaskRef } from '../intents.ts'
import type { Worker } from './worker-call.ts'

export interface TaskFolder {
  /** What the request needs: its inputs. */
  readonly path: string
  readonly made: string
}

/** What is written down of a request before it is sent, so that a later process can record what has come of it. */
export interface Note {
  readonly ref: TaskRef
  readonly message: unknown
}

const noteName = 'task.json'

export function taskFolder(
  ownFolder: string,
  { key, attempt }: Pick<TaskRef, 'key' | 'attempt'>,
): TaskFolder {
  const path = join(ownFolder, 'work', `${key}.${attempt}`)
  return { path, made: join(path, 'made') }
}

/** Makes the folder, with the note in it. @throws FileError */
export function makeTaskFolder({ path }: TaskFolder, note: Note): void {
  try {
    // At once, which is faster than in another thread.
    mkdirSync(path, { recursive: true, mode: 0o700 })
    writeFileSync(join(path, noteName), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    throw writeError(error, path)
  }
}

/** Never throws. */
export function removeFolder(path: string): void {
  try {
    // At once, which takes a fourth of the processor's time.
    rmSync(path, { recursive: true, force: true })
  } catch {}
}

/**
 * Keeps files that were paid for and are no whole result: nobody removes them.
 * @param name of the folder; with a number where an earlier attempt has left something of this name
 * @returns where they are now
 * @throws FileError when they cannot be moved there
 */
export async function keepFolder(
  { folder }: Pick<Worker, 'folder'>,
  path: string,
  name: string,
): Promise<string> {
  const place = join(folder, 'kept')
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

/** The folders of requests that a process has left, each with its note; those without one hold nothing that counts. */
export async function notesIn(
  ownFolder: string,
): Promise<readonly { readonly folder: TaskFolder; readonly note: Note }[]> {
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
  if (!isObject(value) || !isObject(value['ref'])) return undefined
  const { key, attempt, run } = value['ref']
  const [one, two, three] = [stringOf(key), stringOf(attempt), stringOf(run)]
  if (one === undefined || two === undefined || three === undefined) return undefined
  return { ref: { key: one, attempt: two, run: three }, message: value['message'] }
}

/** How the requests of a task are executed: its folder is the manifest's. */
export function executeCall(
  { context, shared, redactor, isSandbox, ownFolder, stop }: Worker,
  path: string,
  gateway: ExecuteCall['gateway'],
): ExecuteCall {
  const project: Project = { ...projectOf(join(path, 'modelgate.yaml'), isSandbox), stateFolder: ownFolder }
  return {
    ...shared,
    gateway,
    context: { ...context, cwd: path, signal: stop.inFlight },
    project,
    redactor,
    timeoutMs: undefined,
  }
}
