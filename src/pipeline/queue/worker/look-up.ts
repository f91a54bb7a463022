import { isFinal as isFinalState } from '../../../contract/video-state.ts'
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
import { fetchJob } from '../../execute/execute-task.ts'
import { taskOf } from '../message.ts'
import type { Handled, TaskState } from '../queue-server.ts'
import { handIn, tellError } from './hand-in.ts'
import { executeCall, inFolder, isOfWorker, keepWhatCame, type TaskFolder } from './unfinished.ts'
import { again, over, type Delivery, type Worker } from './worker-context.ts'

type RemoteJob = NonNullable<TaskState['job']>

/** Looks up remote jobs, once for each delivery, and fetches what has been made. */
export interface LookUps {
  lookUp(delivery: Delivery, job: RemoteJob): Promise<Handled>
}

/** What a worker remembers of a remote job. Another worker may look it up the next time. */
interface Memory {
  readonly lookUp: ReturnType<typeof createJobLookUp>
  readonly failures: ReturnType<typeof createLookUpFailures>
  /** How many more times it may not be found, until it has been. */
  absences: number
}

/** Jobs that are remembered at once: what others have ended is never taken out otherwise. */
const maxRemembered = 1_000

export function createLookUps(worker: Worker): LookUps {
  const remembered = new Map<string, Memory>()
  const remember = ({ id, kind }: RemoteJob): Memory => {
    const memory = remembered.get(id) ?? {
      lookUp: createJobLookUp({ id, kind }),
      failures: createLookUpFailures(),
      absences: appearance.retries,
    }
    remembered.delete(id)
    remembered.set(id, memory)
    const [oldest] = remembered.keys()
    if (remembered.size > maxRemembered) remembered.delete(oldest!)
    return memory
  }
  return {
    async lookUp(delivery, started) {
      const { job, message } = delivery
      const elapsedMs = worker.context.clock.now() - started.since
      const looked = await lookUpOnce(worker, remember(started), elapsedMs)
      if ('againInMs' in looked) {
        // Nobody waits for it.
        const { state, progress: percent } = looked.report ?? {}
        if (state !== undefined) void job.updateProgress({ state, percent }).catch(() => {})
        return again(looked.againInMs)
      }
      remembered.delete(started.id)
      if (!(looked instanceof ModelgateError)) {
        const fetchInto = (folder: TaskFolder) =>
          fetchResult(worker, delivery, started, looked.report, folder)
        return await inFolder(worker, delivery, fetchInto)
      }
      await tellError(worker, job, message, looked)
      return over
    },
  }
}

type LookedUp =
  | { readonly againInMs: number; readonly report?: JobReport }
  | { readonly report: JobReport }
  | ModelgateError

async function lookUpOnce(worker: Worker, memory: Memory, elapsedMs: number): Promise<LookedUp> {
  const { context, shared, stop } = worker
  const { clock } = context
  const wait = (askedMs: number | undefined) =>
    pollWaitAfter(elapsedMs, { firstS: shared.pollIntervalS, askedMs, random: clock.random() })
  try {
    const { gateway } = executeCall(worker, '')
    const { policy, limits } = gateway
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

/** Fetches what a job has made, or finds out how it failed. */
async function fetchResult(
  worker: Worker,
  { job, message, state }: Delivery,
  { id, kind }: RemoteJob,
  report: JobReport,
  folder: TaskFolder,
): Promise<Handled> {
  const call = executeCall(worker, folder.path)
  const task = {
    ...taskOf(message, {}),
    variant: 1,
    idempotencyKey: message.idempotency_key,
    request: () => Promise.reject(new Error('It was sent before.')),
    folder: folder.made,
    job: { id, kind },
    made: null,
    async onJob() {},
    async onMade() {},
    onProgress() {},
  }
  try {
    return await handIn(worker, job, message, await fetchJob(call, task, { id, kind }, report))
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    await keepWhatCame(worker, folder, `${message.key}.${state.attempt}`)
    if (isOfWorker(error) && error.exit !== 'bug') {
      worker.stop.end(error)
      return again(0)
    }
    await tellError(worker, job, message, error)
    return over
  }
}
