import { randomHex } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { amountNumber, amountText } from '../../cost/amount.ts'
import type { History } from '../journal/history.ts'
import { timeOf } from '../journal/journal.ts'
import { creationOf } from '../manifest/instance-body.ts'
import { encodeTask, type LocalFile } from '../queue/encode-task.ts'
import type { gatherSends } from '../queue/sends.ts'
import { expiryMs, type DocumentStore } from '../queue/document-store.ts'
import { whileAway } from '../queue/patiently.ts'
import { lookAt, submit, type Submission } from '../queue/submissions.ts'
import type { TaskDocument } from '../queue/task-document.ts'
import type { OpenQueue, Request, Run } from './run-call.ts'
import { filesOfReferences } from './request-records.ts'

export interface Giving {
  readonly run: Run
  readonly queue: OpenQueue
  readonly send: ReturnType<typeof gatherSends>
  readonly inQueue: Set<string>
  /** What has been put into the store, by its digest. */
  readonly stored: Map<string, Promise<void>>
}

export interface Given {
  /** How many results it creates, if it was not in the journal before. */
  readonly created: number
  /** Whether a worker is at it already. */
  readonly isUnderWay: boolean
  /** The task, if it has ended already. */
  readonly ended: TaskDocument | undefined
}

/**
 * Gives a request to the queue: first its files are in the shared store, then its intent is in the journal, then it is in
 * the queue, and then it is delivered. A process that is killed anywhere between goes on with the same steps.
 * @throws ModelgateError; FileError; UsageError
 */
export async function giveToQueue(giving: Giving, request: Request): Promise<Given> {
  const { run, queue, send, inQueue } = giving
  const { instance, key } = request
  const { clock } = run.call.context
  const { history, manifest } = run.project
  const { message, files } = await encodeTask({
    instance,
    upstream: await filesOfReferences(run, instance),
    inputDigest: run.world.inputDigest,
    project: manifest.project,
  })
  for (const file of files) await storeOnce(giving, file)
  const mayBeLost = history.intents.has(key) && !history.jobs.has(key) && !inQueue.has(key)
  // What nobody knows anything of is another request now: it may be paid for twice, so it counts twice.
  if (mayBeLost && !run.world.isSentAgain) await run.record({ type: 'discard', key })
  const known = history.intents.get(key)
  const created = known === undefined ? creationOf(instance).count : 0
  // Also what was begun without the queue: the next process asks it.
  if (known?.queue !== queue.documents.identity) await recordIntent(giving, request, known?.idempotencyKey)
  inQueue.add(key)
  const submission = { ...submissionOf(giving, request), message }
  const { signal } = run.stop
  const [found] = await whileAway(clock, signal, () => submit(queue.documents, run.journal.run, [submission]))
  if (found!.kind === 'waiting') {
    const { attempt, isStarted } = found!
    const priority = run.priorities.get(instance.id) ?? 0
    const lane = isStarted ? 'poll' : instance.lane
    await whileAway(clock, signal, () => send(lane, { key, attempt, priority }))
  }
  const ended = found!.kind === 'ended' ? found!.task : undefined
  return { created, isUnderWay: found!.kind === 'under way', ended }
}

/** Puts a file into the shared store, unless it is there: each once in a run. */
function storeOnce({ stored, queue }: Giving, { path, sha256 }: LocalFile): Promise<void> {
  const known = stored.get(sha256)
  if (known !== undefined) return known
  const putting = queue.store.put(path, sha256).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'no', ...error.facts }) : error
  })
  stored.set(sha256, putting)
  // Another one that needs it may have more luck.
  putting.catch(() => stored.delete(sha256))
  return putting
}

async function recordIntent(
  { run, queue }: Giving,
  { instance, key, variant }: Request,
  attempt = randomHex(run.call.context.clock, 32),
): Promise<void> {
  const { count: creates } = creationOf(instance)
  const cost = run.costs(instance)?.amount ?? null
  await run.record({
    type: 'intent',
    instance: instance.id,
    key,
    variant,
    idempotency_key: attempt,
    creates,
    cost: cost === null ? null : amountNumber(cost),
    queue: queue.documents.identity,
    queue_at: queue.shown,
  })
}

function submissionOf({ run }: Giving, { instance, key }: Request): Omit<Submission, 'message'> {
  const { history } = run.project
  const { idempotencyKey, creates, cost } = history.intents.get(key)!
  return {
    key,
    attempt: idempotencyKey,
    instance: instance.id,
    lane: instance.lane,
    creates,
    cost: cost === null ? null : amountText(cost),
    onUnknown: instance.onUnknown,
    isFresh: history.of(key)?.isDiscarded === true,
    isSentAgain: run.world.isSentAgain,
    job: history.jobs.get(key) ?? null,
  }
}

/**
 * The keys of requests that were given to this queue, and of which it tells more.
 *
 * One that it does not have was never submitted, since what it has is kept for a week after its end; of an older one
 * nothing is known any more.
 */
export async function keysInQueue(
  documents: DocumentStore,
  history: Pick<History, 'intents'>,
  now: number,
): Promise<Set<string>> {
  const intents = [...history.intents.values()].filter(({ queue }) => queue === documents.identity)
  const tasks = await lookAt(
    documents,
    intents.map(({ key }) => key),
  )
  const known = intents.filter(({ key, idempotencyKey, run }) => {
    const task = tasks.get(key)
    if (task === undefined) return now - timeOf(run) < expiryMs
    const isOwn = task.attempt === idempotencyKey || task.earlier.includes(idempotencyKey)
    return !isOwn || task.state !== 'unknown'
  })
  return new Set(known.map(({ key }) => key))
}
