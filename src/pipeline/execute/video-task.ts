import { ModelgateError, UsageError } from '../../errors.ts'
import { videoKinds } from '../../files/calls/job-record.ts'
import { nextCommand } from '../../files/next-command.ts'
import { planOutputs } from '../../files/output-plan.ts'
import type { JobReport } from '../../gateway/videos/read-job.ts'
import { stringOf } from '../../json.ts'
import { unrecordedJob, type NamedJob } from '../../operations/jobs.ts'
import { startVideo, waitForVideo, type StartPlan } from '../../operations/video-jobs.ts'
import { videoRequest, type VideoRequest } from '../../operations/video-request.ts'
import {
  fileTemplate,
  listenerOf,
  mediaFacts,
  wholeResult,
  withKept,
  type Made,
  type StartedJob,
  type Task,
  type TaskRun,
} from './task.ts'

/** Starts a job, unless it was started before, and waits for it. @throws ModelgateError `running`, `later` */
export async function makeVideo(run: TaskRun, report: JobReport | undefined): Promise<Made> {
  const { task, shared } = run
  const job = task.job ?? (await startVideoJob(run))
  const listener = listenerOf((event) => {
    if (event.type === 'job-progress') task.onProgress(event.state, event.progress)
  })
  const call = { ...run.call, listener }
  const { context } = call
  const { instance } = task
  const plan = planOf(run)
  const deadlineMs = shared.timeoutMs === undefined ? undefined : context.clock.monotonic() + shared.timeoutMs
  const named = { ...job, stored: await plan.store.find(job.id) }
  const outcome = await waitForVideo(listener, 'wait', { named, call, plan: { ...plan, deadlineMs } }, report)
  const document = wholeResult(task, outcome)
  if (document.files.length < instance.count) {
    // Of a job without a record the operation does not know how many videos it was asked for.
    const message = `The gateway sent only ${document.files.length} of ${instance.count} videos.`
    const facts = { phase: 'result', billed: 'yes', remoteId: document.id } as const
    throw withKept(task, new ModelgateError('partial', 'some_failed', message, facts), document.files)
  }
  const files = document.files.slice(0, instance.count)
  const outputs = await Promise.all(files.map(({ path }) => mediaFacts(context, path)))
  return { outputs, model: document.model, document }
}

function planOf({ task: { instance }, call: { context }, shared }: TaskRun): StartPlan {
  const place = { output: fileTemplate, folder: null, force: true }
  const names = { model: instance.model ?? '', prompt: '', count: instance.count, now: context.clock.now() }
  return {
    store: shared.jobs,
    start: { is_sandbox: shared.project.isSandbox, profile: shared.profile },
    place,
    keepsWords: false,
    waits: false,
    checksSource: true,
    output: planOutputs(context, { ...place, ...names, kind: 'video' }),
    force: true,
    acceptMismatch: true,
    pollIntervalS: shared.pollIntervalS,
    deadlineMs: undefined,
    resume: () => nextCommand(['modelgate', 'run']),
  }
}

/** Resolves when the id of the job is safe. */
export async function startVideoJob(run: TaskRun): Promise<StartedJob> {
  const { task, call } = run
  const kind = task.instance.command === 'video remix' ? 'video' : 'operation'
  const { body, source: sourceId } = await task.request()
  const model = kind === 'video' ? stringOf(body['model']) : task.instance.model
  const request: VideoRequest = videoRequest({ kind, model: model ?? '', body })
  const source = kind === 'video' ? remixed(task, sourceId) : undefined
  const document = wholeResult(task, await startVideo(call, request, { ...planOf(run), source }))
  await task.onJob(document.id, document.kind)
  return { id: document.id, kind: document.kind }
}

function remixed({ instance }: Task, id: string | null): NamedJob {
  if (id !== null) return unrecordedJob(id, videoKinds)
  throw new UsageError(`The video that ${instance.id} starts from has no id at the gateway.`, {
    code: 'unknown_id',
    hint: 'Only a video that was generated on this gateway can be remixed.',
  })
}
