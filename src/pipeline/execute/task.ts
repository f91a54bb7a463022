import { join, resolve } from 'node:path'
import type { Clock } from '../../context.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import type { Creation } from '../../cost/creation.ts'
import type { Prices } from '../../cost/prices.ts'
import type { ModelgateError } from '../../errors.ts'
import type { OutputDocument, OutputEvent } from '../../events/documents.ts'
import type { ImageDocument } from '../../events/image.ts'
import type { TextDocument } from '../../events/text.ts'
import type { VideoDocument } from '../../events/video.ts'
import { videoKinds, type MadeImages } from '../../files/calls/job-record.ts'
import type { JobStore } from '../../files/calls/job-store.ts'
import { shownPath } from '../../files/file-error.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { openJobs } from '../../operations/jobs.ts'
import type { Call, Listener, OperationContext, Outcome, Redactor } from '../../operations/operation.ts'
import type { Spending } from '../../operations/spending.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { TaskRequest } from '../manifest/request-body.ts'
import type { Project } from '../project.ts'

export interface Task {
  /** Of its fields only whether there is a `schema` counts here. */
  readonly instance: Pick<Instance, 'id' | 'command' | 'lane' | 'model' | 'count' | 'fields'>
  readonly key: string
  readonly variant: number
  readonly idempotencyKey: string
  /** What it is expected to create, for its price. */
  readonly creation: Creation
  /** Builds what is sent. @throws UsageError, FileError with everything that is wrong with its files */
  request(): Promise<TaskRequest>
  /** An empty folder of its own for what it makes. */
  readonly folder: string
  /** The remote job of an earlier attempt: it is waited for, and nothing is sent. */
  readonly job: StartedJob | null
  /** The results of an earlier attempt that are at addresses: they are fetched, and nothing is sent. */
  readonly made: MadeImages | null
  /** Called with the addresses of results before they are fetched; it continues when they are on disk. */
  onMade(made: MadeImages): Promise<void>
  /** Called when the id of a remote job is known; it continues when that is on disk. */
  onJob(id: string, kind: StartedJob['kind']): Promise<void>
  /** @param percent 0 to 100 */
  onProgress(state: string, percent: number | null): void
}

export interface ExecuteCall {
  readonly context: OperationContext
  readonly project: Project
  /** Of its own only look-ups and downloads are retried here: whoever runs the tasks repeats them. */
  readonly gateway: Gateway
  readonly redactor: Redactor
  readonly jobs: JobStore
  /** Counts what one task creates, within the limits of the user. */
  newSpending(): Pick<Spending, 'admit' | 'withCost'>
  readonly prices: Prices
  readonly families: ModelFamilies
  readonly profile: string
  /** The first interval between two look-ups of a job, in seconds; by default the usual one. */
  readonly pollIntervalS: number | undefined
  /** How long one job is waited for, in milliseconds; undefined: until it ends. */
  readonly timeoutMs: number | undefined
  /** The folder for results that were paid for but cannot be written to their target. */
  readonly rescueFolder: string | undefined
}

export interface Made {
  readonly outputs: readonly OutputFacts[]
  /** As served. */
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

/** The task as it begins: what it creates is counted apart, and its request goes out under the task's key. */
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

/** What a task could not write to its folder is rescued under its key, so that the next run finds it. */
export function rescueFolderOf(rescueFolder: string, { key }: Pick<Task, 'key'>): string {
  return join(rescueFolder, 'run', key)
}

/**
 * The document of an operation that has done all that was asked.
 * @throws the error that it came to, if it has not, with what has been saved all the same: it has been paid for
 */
export function wholeResult<
  Document extends OutputDocument & { readonly files: readonly { readonly path: string }[] },
>(task: Task, outcome: Outcome<Document>): Document {
  const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
  if (error === undefined) return outcome.document!
  throw withKept(task, error, outcome.document?.files ?? [])
}

/** Adds to an error what has been saved all the same, and where: it has been paid for. */
export function withKept(
  { folder }: Task,
  error: ModelgateError,
  files: readonly { readonly path: string }[],
): ModelgateError {
  if (files.length === 0) return error
  const { rescued = [], hint } = error.facts
  const all = [...rescued, ...files.map(({ path }) => resolve(folder, path))]
  const where = `What has come is kept in ${shownPath(folder, Infinity)}.`
  return error.amend({ rescued: all, ...(hint === undefined ? { hint: where } : {}) })
}

export interface StartedJob {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: 'video' | 'operation'
}

/**
 * The jobs that were started in a project, by the idempotency keys of their requests. An id is on record before the journal
 * has it, even the one in a reply that was cut: a process may have been killed between the two.
 */
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
