import { rmSync } from 'node:fs'
import { readdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomHex, type Context } from '../../../context.ts'
import { ModelgateError } from '../../../errors.ts'
import { writeError } from '../../../files/file-error.ts'
import { makeFolder } from '../../../files/write-target.ts'
import { takeOwnership } from '../../journal/owner.ts'
import { manifestName, namesIn, projectOf, type Project } from '../../project.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import type { JobStore } from '../../../files/calls/job-store.ts'
import type { OperationContext, Redactor } from '../../../operations/operation.ts'
import type { ExecuteCall } from '../../execute/task.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { SharedStore } from '../../store/blob-store.ts'
import type { QueueServer, ReceiveOptions, RequestRate } from '../queue-server.ts'

export interface WorkerOptions {
  readonly places: Readonly<Record<Lane, number>>
  /** `--rate`: of each lane, for all workers of the queue. */
  readonly rate: RequestRate | null
  readonly graceS: number
  readonly untilEmpty: boolean
}

export interface WorkerCall {
  readonly context: OperationContext & Pick<Context, 'processes'>
  readonly server: QueueServer
  readonly store: SharedStore
  readonly shared: Omit<ExecuteCall, 'context' | 'project' | 'redactor' | 'jobs' | 'timeoutMs'>
  readonly redactor: Redactor
  readonly isSandbox: boolean
  /** For the workers of this machine, absolute: each process has a folder of its own in it. */
  readonly folder: string
  readonly options: WorkerOptions
  readonly listener: { event(event: OutputEvent): void }
  readonly locks?: ReceiveOptions['locks']
  readonly onStart?: (name: string) => void
}

/** A worker at work: what all of its deliveries share. */
export interface Worker extends WorkerCall {
  /** Unique among all workers of the queue. */
  readonly name: string
  readonly ownFolder: string
  readonly jobs: JobStore
  /** Aborted when nothing new is begun. */
  readonly closing: AbortSignal
  /** Aborted when the time of grace is over: requests are given up, and what cannot be written down is for the next process. */
  readonly inFlight: AbortSignal
  /** Begins the end for a reason of the worker's own. What is in flight may take its time. */
  end(reason: unknown): void
  warn(message: string): void
  /** Does on the server what may be done twice, for as long as it takes. @throws the reason of the worker's end */
  ask<Value>(work: () => Promise<Value>): Promise<Value>
}

/** Makes a folder for this process, which owns it as a run owns a manifest. @throws FileError */
export async function openWorkerFolder({ folder: place, context }: WorkerCall) {
  for (;;) {
    const path = join(place, randomHex(context.clock, 16))
    const folder = await takeFolder(path, context).catch((error: unknown) => {
      removeFolder(path)
      throw error
    })
    if (folder !== undefined) return folder
    // Another worker has taken it for abandoned before it had an owner.
  }
}

/** Takes over the folders of workers that have died. One that cannot be taken now is left. @throws FileError */
export async function* deadFolders({ folder: place, context }: WorkerCall) {
  for (const name of await namesIn(place)) {
    if (!/^[0-9a-f]{16}$/.test(name)) continue
    const folder = await takeFolder(join(place, name), context).catch(() => undefined)
    if (folder !== undefined) yield folder
  }
}

async function takeFolder(path: string, context: WorkerCall['context']) {
  const ownership = await takeOwnership(projectIn(path, false), context).catch((error: unknown) => {
    if (!(error instanceof ModelgateError) || error.code !== 'run_owned') throw error
  })
  if (!ownership) return undefined
  /** @param isEmpty whether nothing in it is for the next process. Never throws. */
  const release = async (isEmpty: boolean) => {
    if (isEmpty) removeFolder(path)
    await ownership.release()
    // Of the queue, if nothing is in it.
    await rmdir(dirname(path)).catch(() => {})
  }
  return { path, release }
}

export function projectIn(folder: string, isSandbox: boolean): Project {
  return projectOf(join(folder, manifestName), isSandbox)
}

/** Where the folders of attempts are, each called after its lane, its job on the server and the attempt. */
export function workIn(own: string): string {
  return join(own, 'work')
}

/** Keeps the files of a request that failed: they may have been paid for. Never throws. @returns whether there were any */
export async function keepFiles(
  { folder, context, warn }: Worker,
  made: string,
  key: string,
): Promise<boolean> {
  if ((await readdir(made).catch(() => [])).length === 0) return false
  const kept = join(folder, 'kept', `${key}.${randomHex(context.clock, 8)}`)
  try {
    await makeFolder(dirname(kept))
    await rename(made, kept)
    warn(`Files from the failed request are kept in ${kept}.`)
  } catch (error) {
    warn(`Files from the failed request are lost: ${writeError(error, kept).message}`)
  }
  return true
}

/** Never throws. */
export function removeFolder(path: string): void {
  try {
    // At once, which takes a fourth of the processor's time.
    rmSync(path, { recursive: true, force: true })
  } catch {}
}
