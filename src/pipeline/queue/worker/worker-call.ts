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
  /** Of each lane, for all workers of the queue. */
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
  /** Each process of this machine has a folder of its own in it. */
  readonly folder: string
  readonly options: WorkerOptions
  readonly listener: { event(event: OutputEvent): void }
  readonly locks?: ReceiveOptions['locks']
  readonly onStart?: (name: string) => void
}

export interface Worker extends WorkerCall {
  readonly name: string
  readonly ownFolder: string
  readonly jobs: JobStore
  readonly closing: AbortSignal
  /** Aborted when the time of grace is over: what cannot be written down is for the next process. */
  readonly inFlight: AbortSignal
  /** For a reason of the worker's own. What is in flight may take its time. */
  end(reason: unknown): void
  warn(message: string): void
  /** Does on the server what may be done twice, for as long as it takes. @throws the reason of the worker's end */
  ask<Value>(work: () => Promise<Value>): Promise<Value>
}

/** This process owns the folder as a run owns a manifest. */
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

/** Takes over the folders of workers that have died, as far as they can be taken now. */
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
  /** @param isEmpty whether nothing in it is for the next process */
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

/** Each attempt has a folder there, called after its lane, its job on the server and itself. */
export function workIn(own: string): string {
  return join(own, 'work')
}

/** What a failed request has made may have been paid for. Never throws. @returns whether there was any */
export async function keepFiles({ folder, context, warn }: Worker, made: string, key: string) {
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

export function removeFolder(path: string): void {
  try {
    // Never throws. The synchronous call takes a fourth of the processor time.
    rmSync(path, { recursive: true, force: true })
  } catch {}
}
