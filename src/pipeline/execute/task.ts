import { hash } from 'node:crypto'
import { copyFile, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Clock, FileContext } from '../../context.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import type { Creation } from '../../cost/creation.ts'
import type { Prices } from '../../cost/prices.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import type { OutputDocument, OutputEvent } from '../../events/documents.ts'
import type { ImageDocument } from '../../events/image.ts'
import type { TextDocument } from '../../events/text.ts'
import type { VideoDocument } from '../../events/video.ts'
import { videoKinds, type MadeImages } from '../../files/calls/job-record.ts'
import type { JobStore } from '../../files/calls/job-store.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'
import { inspectAnyFile, type FileFacts } from '../../files/inspect-file.ts'
import { makeFolder } from '../../files/write-target.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { openJobs } from '../../operations/jobs.ts'
import type { Call, Listener, OperationContext, Outcome, Redactor } from '../../operations/operation.ts'
import type { Spending } from '../../operations/spending.ts'
import { unknownProvenance, type OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { TaskRequest } from '../manifest/request-body.ts'
import type { Project } from '../project.ts'
import { digestOfStateFile, isTextType } from '../store/file-digest.ts'
import { readRecord, type TaskResult } from '../store/results.ts'

export interface Task {
  /** Of its fields only whether there is a `schema` counts here. */
  readonly instance: Pick<Instance, 'id' | 'command' | 'lane' | 'model' | 'count' | 'fields'>
  readonly key: string
  readonly variant: number
  readonly idempotencyKey: string
  readonly creation: Creation
  /** Builds what is sent. @throws UsageError, FileError with everything that is wrong with its files */
  request(): Promise<TaskRequest>
  readonly folder: string
  /** Of an earlier attempt: it is waited for, and nothing is sent. */
  readonly job: StartedJob | null
  /** Results of an earlier attempt: they are fetched, and nothing is sent. */
  readonly made: MadeImages | null
  /** Called before the results are fetched; resolves when their addresses are on disk. */
  onMade(made: MadeImages): Promise<void>
  /** Resolves when the id of the remote job is on disk. */
  onJob(id: string, kind: StartedJob['kind']): Promise<void>
  onProgress(state: string, percent: number | null): void
}

export interface ExecuteCall {
  readonly context: OperationContext
  readonly project: Project
  /** Of its own only look-ups and downloads are retried here: whoever runs the tasks repeats them. */
  readonly gateway: Gateway
  readonly redactor: Redactor
  readonly jobs: JobStore
  newSpending(): Pick<Spending, 'admit' | 'withCost'>
  readonly prices: Prices
  readonly families: ModelFamilies
  readonly profile: string
  readonly pollIntervalS: number | undefined
  readonly timeoutMs: number | undefined
  readonly rescueFolder: string | undefined
}

export interface Made {
  readonly outputs: readonly OutputFacts[]
  readonly model: string | null
  readonly document: TextDocument | ImageDocument | VideoDocument
  /** What an answer says besides the pictures that were wanted of it. */
  readonly text?: string
}

export interface TaskRun {
  readonly shared: ExecuteCall
  readonly task: Task
  /** The call of the operation; paths are relative to the task's folder. */
  readonly call: Call
}

/** What the task creates is counted apart, and its request goes out under the task's key. */
export function beginRun(shared: ExecuteCall, task: Task): TaskRun {
  const { context, redactor, rescueFolder } = shared
  const spending = shared.newSpending()
  let hasSent = false
  const gateway: Gateway = {
    ...shared.gateway,
    policy: { ...shared.gateway.policy, readsOnly: true },
    idempotencyKey: task.idempotencyKey,
    admit: (creation) => spending.admit(creation),
    onSend() {
      hasSent = true
      shared.gateway.onSend?.()
    },
  }
  const call: Call = {
    context: { ...context, cwd: task.folder },
    gateway,
    listener: listenerOf(() => {}),
    redactor,
    rescueFolder: rescueFolder && rescueFolderOf(rescueFolder, task),
    spending,
    hasSent: () => hasSent,
  }
  return { shared, task, call }
}

export function listenerOf(event: (event: OutputEvent) => void): Listener {
  return { event, async flush() {} }
}

function rescueFolderOf(rescueFolder: string, { key }: Pick<Task, 'key'>): string {
  return join(rescueFolder, 'run', key)
}

/** @throws what ended an operation that has not done all that was asked, with what has been saved: it is paid for */
export function wholeResult<
  Document extends OutputDocument & { readonly files: readonly { readonly path: string }[] },
>(task: Task, outcome: Outcome<Document>): Document {
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  if (error === undefined) return outcome.document!
  throw withKept(task, error, outcome.document?.files ?? [])
}

export function withKept(
  { folder }: Task,
  error: ModelgateError,
  files: readonly { readonly path: string }[],
): ModelgateError {
  if (files.length === 0) return error
  const { rescued = [], hint } = error.facts
  const all = [...rescued, ...files.map(({ path }) => resolve(folder, path))]
  const where = `What has arrived is kept in ${shownPath(folder, Infinity)}.`
  return error.amend({ rescued: all, ...(hint === undefined ? { hint: where } : {}) })
}

export interface StartedJob {
  readonly id: string
  readonly kind: 'video' | 'operation'
}

/** By idempotency key. An id is on record before the journal has it, also that in a reply that was cut. */
export async function startedJobs(
  context: { readonly clock: Clock },
  { stateFolder }: Pick<Project, 'stateFolder'>,
  redactor: Redactor,
): Promise<ReadonlyMap<string, StartedJob>> {
  const { jobs } = await openJobs(context, stateFolder, redactor).list(videoKinds)
  const found = new Map<string, StartedJob>()
  for (const { record } of jobs) {
    const { id, kind, idempotency_key: key } = record
    // Of several requests with one key the newest that has an id; they are the same job.
    if (id !== null && !found.has(key)) found.set(key, { id, kind })
  }
  return found
}

export const fileTemplate = '{index}.{ext}'

/** The facts of a whole image or video. @param context its working directory is that of the file @throws FileError */
export async function mediaFacts(context: FileContext, name: string): Promise<OutputFacts> {
  const found = await inspectAnyFile(context, name).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'yes' }) : error
  })
  const { damage } = found.integrity
  if (damage === undefined) return factsOf(found, name)
  throw new FileError('file_changed', `${shownPath(name)} is damaged: ${damage}.`, { billed: 'yes' })
}

type OutputSource = Pick<
  FileFacts,
  'mediaType' | 'sha256' | 'bytes' | 'width' | 'height' | 'seconds' | 'credentials'
>

export function factsOf({ mediaType, ...found }: OutputSource, path: string): OutputFacts {
  const { sha256, bytes, width, height, seconds, credentials } = found
  const media_type = mediaType ?? 'application/octet-stream'
  return { path, sha256, bytes, media_type, width, height, seconds, credentials }
}

export function textFacts({ fields }: Pick<Instance, 'fields'>, content: Uint8Array): OutputFacts {
  const [path, mediaType] =
    fields['schema'] === undefined ? ['1.txt', 'text/plain'] : ['1.json', 'application/json']
  const facts = { mediaType, sha256: hash('sha256', content), bytes: content.length }
  return factsOf({ ...facts, width: null, height: null, seconds: null, credentials: false }, path!)
}

/**
 * What an earlier process has left of a task, if it is all there and whole. An image or a video has its final name only
 * when it is, so it counts without the record, too. @param rescued names of files that were whole when they were rescued
 */
export async function recoverResult(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescued: readonly string[] = [],
): Promise<TaskResult | undefined> {
  const { instance, folder } = task
  const inFolder = { ...context, cwd: folder }
  const found = await readRecord(folder)
  try {
    if (found?.key === task.key && found.result.outputs.length >= instance.count) {
      const { result, cost, warnings, text } = found
      for (const { path, sha256, media_type } of result.outputs) {
        const there = await digestOfStateFile(join(folder, path), isTextType(media_type))
        if (there?.sha256 !== sha256) return undefined
      }
      return { result, cost, warnings, text }
    }
    const names = await finalNames(task)
    const outputs: OutputFacts[] = []
    for (const name of names.length > 0 ? names : rescued) {
      if (!rescued.includes(name) && !(await isVerified(inFolder, instance, name))) return undefined
      const content = instance.lane === 'text' ? await readInputFile(inFolder, name) : undefined
      if (content instanceof ModelgateError) return undefined
      outputs.push(content ? textFacts(instance, content) : await mediaFacts(inFolder, name))
    }
    if (outputs.length < instance.count) return undefined
    return { result: { ...unknownProvenance, outputs }, cost: null, warnings: [] }
  } catch (error) {
    context.signal.throwIfAborted()
    if (error instanceof ModelgateError) return undefined
    throw error
  }
}

/** The images or videos of a result by their names alone; fewer where one is missing, or there are two of a number. */
async function finalNames({ instance, folder }: Pick<Task, 'instance' | 'folder'>) {
  // Nothing else says whether an answer is whole.
  if (instance.command === 'generate' || instance.command === 'respond') return []
  const all = await readdir(folder).catch((): string[] => [])
  const numbers = Array.from({ length: instance.count }, (_, at) => at + 1)
  const found = numbers.map((number) => all.filter((name) => new RegExp(`^${number}\\.\\w+$`).test(name)))
  return found.flatMap(([name, ...others]) => (name === undefined || others.length > 0 ? [] : [name]))
}

async function isVerified(context: FileContext, { lane }: Task['instance'], name: string): Promise<boolean> {
  const { mediaType, integrity } = await inspectAnyFile(context, name)
  return mediaType?.startsWith(`${lane}/`) === true && integrity.state === 'whole'
}

/** `20261122T121607-1.png`: a file that a task could not write to its folder. */
const rescuedName = /^\d{8}T\d{6}-(\d+\.\w+)$/

/** Moves what an earlier run has rescued into the task's folder, if all of the result is there. */
export async function takeRescued(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescueFolder: string | undefined,
): Promise<TaskResult | undefined> {
  if (rescueFolder === undefined) return undefined
  const folder = rescueFolderOf(rescueFolder, task)
  try {
    const newest = new Map<string, string>()
    for (const file of (await readdir(folder)).toSorted()) {
      const name = rescuedName.exec(file)?.[1]
      if (name !== undefined) newest.set(name, file)
    }
    await makeFolder(task.folder)
    for (const [name, file] of newest) await copyFile(join(folder, file), join(task.folder, name))
    const result = await recoverResult(context, task, [...newest.keys()].toSorted())
    if (result !== undefined) await rm(folder, { recursive: true, force: true })
    return result
  } catch {
    context.signal.throwIfAborted()
    // Nothing was rescued, or there is still no room.
    return undefined
  }
}
