import { asModelgateError, ModelgateError } from '../../../errors.ts'
import type { JobReport } from '../../../gateway/videos/job-fields.ts'
import {
  appearance,
  createJobLookUp,
  createLookUpFailures,
  mayAppear,
  mayPass,
} from '../../../gateway/videos/look-up-job.ts'
import { pollWaitAfter } from '../../../gateway/videos/poll-waits.ts'
import { isFinal as isFinalState } from '../../../contract/video-state.ts'
import { fetchJob } from '../../execute/execute-task.ts'
import type { StartedJob } from '../../execute/started-jobs.ts'
import type { Handled } from '../delivery.ts'
import { creationOf } from '../../manifest/instance-body.ts'
import { isOfWorker } from '../intents.ts'
import { taskMessage } from '../submissions.ts'
import { decodeMessage, keepWhatCame, type KnownTask } from './handle-task.ts'
import { recordError, recordResult, type Ended } from './record-end.ts'
import { executeCall, makeTaskFolder, removeFolder, taskFolder } from './task-folder.ts'
import { taskGateway } from './worker-gateway.ts'
import type { Worker } from './worker-call.ts'

/** What a worker remembers of the remote jobs that it looks up. Another worker may look one up the next time. */
interface Memory {
  readonly lookUp: ReturnType<typeof createJobLookUp>
  readonly failures: ReturnType<typeof createLookUpFailures>
  /** How many more times it may not be found, until it has been. */
  absences: number
}

/** Jobs that are remembered at once: what others have ended is never taken out otherwise. */
const maxRemembered = 1_000
/** What this process has left is nothing that anybody else would see. */
const leftMs = 60_000

export type PollHandler = (known: KnownTask) => Promise<Handled>

/** Makes what looks up remote jobs, once for each delivery, and fetches what has been made. */
export function createPollHandler(worker: Worker): PollHandler {
  const remembered = new Map<string, Memory>()
  const remember = (job: StartedJob): Memory => {
    const memory = remembered.get(job.id) ?? {
      lookUp: createJobLookUp(job),
      failures: createLookUpFailures(),
      absences: appearance.retries,
    }
    remembered.delete(job.id)
    remembered.set(job.id, memory)
    const [oldest] = remembered.keys()
    if (remembered.size > maxRemembered) remembered.delete(oldest!)
    return memory
  }

  return async (known) => {
    const { ref, task, message } = known
    const { job } = task
    // What is not started is for those who start it.
    if (task.state !== 'started' || job === null || job.kind === 'response') return 'over'
    const started = { id: job.id, kind: job.kind }
    const elapsedMs = worker.serverTime() - task.since
    const memory = remember(started)
    const looked = await lookUp(worker, memory, elapsedMs)
    if ('againInMs' in looked) {
      if (looked.report !== undefined) tellProgress(worker, ref.key, looked.report)
      return { againInMs: looked.againInMs }
    }
    const ended =
      looked instanceof ModelgateError
        ? await recordError(worker, ref, task, looked)
        : await fetchResult(worker, { ...known, message }, started, looked.report)
    if (ended.isLeft) return { againInMs: leftMs }
    if (ended.againInMs !== null) return { againInMs: ended.againInMs }
    remembered.delete(started.id)
    worker.turns.freed(task.lane)
    return 'over'
  }
}

type LookedUp =
  | { readonly againInMs: number; readonly report?: JobReport }
  | { readonly report: JobReport }
  | ModelgateError

async function lookUp(worker: Worker, memory: Memory, elapsedMs: number): Promise<LookedUp> {
  const {
    context: { clock },
    shared,
    stop,
  } = worker
  const gateway = taskGateway(worker)
  const { policy, limits } = gateway
  const wait = (askedMs: number | undefined) =>
    pollWaitAfter(elapsedMs, { firstS: shared.pollIntervalS, askedMs, random: clock.random() })
  try {
    const once = { ...gateway, policy: { ...policy, maxRetries: 0 }, limits: { ...limits, total: undefined } }
    const report = await memory.lookUp(once)
    memory.failures.clear()
    memory.absences = 0
    return isFinalState(report.state) ? { report } : { againInMs: wait(report.nextLookUpMs), report }
  } catch (thrown) {
    if (stop.inFlight.aborted) return { againInMs: 0 }
    const error = asModelgateError(thrown, false)
    // A task whose look-up meets a bug would end the next worker, too.
    if (isOfWorker(error) && error.exit !== 'bug') {
      stop.end(error)
      return { againInMs: 0 }
    }
    if (mayAppear(error) && memory.absences-- > 0) return { againInMs: appearance.waitMs }
    if (!mayPass(error) || memory.failures.add(clock.monotonic())) return error
    const askedS = error.facts.retryAfterS
    return { againInMs: wait(askedS === undefined ? undefined : askedS * 1000) }
  }
}

function tellProgress({ documents }: Worker, key: string, { state, progress }: JobReport): void {
  // Nobody waits for it.
  void documents.notify(taskMessage(key, { progress: { state, percent: progress } })).catch(() => {})
}

/** Fetches what a job has made, or finds out how it failed. */
async function fetchResult(
  worker: Worker,
  { ref, task, message }: KnownTask,
  job: StartedJob,
  report: JobReport,
): Promise<Ended> {
  const decoded = decodeMessage(message)
  if (decoded instanceof ModelgateError) return await recordError(worker, ref, task, decoded)
  const folder = taskFolder(worker.ownFolder, ref)
  let isLeft = false
  try {
    makeTaskFolder(folder, { ref, message })
    const call = executeCall(worker, folder.path, taskGateway(worker))
    const own = {
      instance: decoded.instance,
      key: ref.key,
      variant: 1,
      idempotencyKey: ref.attempt,
      creation: creationOf(decoded.instance),
      request: () => Promise.reject(new Error('It was sent before.')),
      folder: folder.made,
      job,
      onJob: async () => {},
      made: null,
      async onMade() {},
      onProgress() {},
    }
    const ended = await fetchJob(call, own, job, report).then(
      (result) => recordResult(worker, ref, task, result),
      async (thrown: unknown) => {
        const error = asModelgateError(thrown, false)
        await keepWhatCame(worker, ref, folder)
        return await recordError(worker, ref, task, error)
      },
    )
    isLeft = ended.isLeft
    return ended
  } finally {
    if (!isLeft) removeFolder(folder.path)
  }
}
