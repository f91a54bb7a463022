import { resolve } from 'node:path'
import type { ModelFamilies } from '../../contract/known-models.ts'
import type { Prices } from '../../cost/prices.ts'
import type { ModelgateError } from '../../errors.ts'
import type { OutputDocument, OutputEvent } from '../../events/documents.ts'
import { shownPath } from '../../files/file-error.ts'
import type { JobStore } from '../../files/calls/job-store.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Call, OperationContext, Outcome, Redactor } from '../../operations/operation.ts'
import type { Spending } from '../../operations/spending.ts'
import type { OutputFacts, Provenance } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { rescueFolderOf } from './task-record.ts'
import type { Task } from './task.ts'

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
  readonly provenance: Omit<Provenance, 'origin' | 'took_s'>
  readonly document: OutputDocument
  readonly warnings: readonly string[]
  /** What an answer says besides the pictures that were wanted of it. */
  readonly text?: string
}

export interface TaskRun {
  readonly shared: ExecuteCall
  readonly task: Task
  /** The call of the operation; paths are relative to the task's folder. */
  readonly call: Call
  onEvent(listener: (event: OutputEvent) => void): void
}

/** The task as it begins: what it creates is counted apart, and its request goes out under the task's key. */
export function beginRun(shared: ExecuteCall, task: Task): TaskRun {
  const { context, redactor, rescueFolder } = shared
  const spending = shared.newSpending()
  let hasSent = false
  let listen: (event: OutputEvent) => void = () => {}
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
    context: {
      cwd: task.folder,
      platform: context.platform,
      clock: context.clock,
      signal: context.signal,
      stdout: context.stdout,
    },
    gateway,
    listener: { event: (event) => listen(event), async flush() {} },
    redactor,
    rescueFolder: rescueFolder && rescueFolderOf(rescueFolder, task),
    spending,
    hasSent: () => hasSent,
  }
  return { shared, task, call, onEvent: (listener) => void (listen = listener) }
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
