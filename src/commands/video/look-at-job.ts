import { resolve } from 'node:path'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { stateText } from '../../contract/video-state.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { planOutputs, type OutputPlan } from '../../files/output-plan.ts'
import { lookUpJob, lookUpRequest } from '../../gateway/videos/look-up-job.ts'
import { createGate, type Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { resumeCommand } from '../../output/resume-command.ts'
import { isDryRun, printRequest } from '../shared/dry-run.ts'
import { openGateway, readSettings } from '../shared/open-gateway.ts'
import { throwProblems } from '../shared/problem-list.ts'
import { combinationProblems, type VideoOptions } from './video-options.ts'
import { videosOf } from './video-request.ts'
import { failed, followJob } from './follow-job.ts'
import { findJob, optionsFor, resumeFlags, withCleanIds, type NamedJob } from './jobs.ts'
import { changeOf, keepRecord, openJobOutput, reportJob, type JobSession } from './job-session.ts'
import { withKnowledge } from './record-knowledge.ts'
import { alreadySavedNote, alreadySavedVideos, reportAlreadySaved } from './already-saved.ts'
import { deadlineOf, withoutTotal } from './start-job.ts'

/** Looks a job up, or with `--wait` waits for its end and saves its videos where the command that started it wanted. */
export async function lookAtJob(
  context: Context,
  given: VideoOptions,
  text: string | undefined,
  command: 'video status' | 'video wait',
): Promise<void> {
  let output: Output | undefined
  const settings = await readSettings(context, given)
  const gate = createGate(context)
  const named = await findJob(context, given, settings, text, gate)
  const options = optionsFor(given, named)
  const waits = options.wait === true
  const deadlineMs = deadlineOf(context, settings)
  const { plan, force } = waits
    ? await planFor(context, options, settings, named, gate)
    : { plan: undefined, force: false }
  const model = named.stored?.record.model ?? ''
  const standing =
    plan === undefined || isDryRun(options)
      ? undefined
      : await alreadySavedVideos(context, options, named, plan)
  if (standing !== undefined) {
    output = openJobOutput(context, options, settings, { result: 'files', gate })
    await reportJob(output, { command, model, options }, async (report) =>
      reportAlreadySaved({ options, report }, named, standing),
    ).finally(() => {
      if (!settings.quiet.value) context.stderr.write(alreadySavedNote(standing))
    })
    return
  }
  const { gateway, close } = await openGateway(context, options, settings, false, () => output, gate)
  try {
    if (isDryRun(options))
      return await printRequest(context, options, { gateway, gate }, lookUpRequest(gateway, named), {
        body: undefined,
      })
    output = openJobOutput(context, options, settings, { result: waits ? 'files' : 'job', gate })
    await reportJob(output, { command, model, options }, async (report) => {
      const session: JobSession = { context, options, settings, gateway, report }
      const { id, kind, stored } = named
      const asked =
        plan === undefined
          ? look(session, named)
          : followJob(
              { ...session, gateway: withoutTotal(gateway) },
              { job: { id, kind }, stored, plan, force, deadlineMs },
            )
      return await asked.catch(async (error: unknown) => {
        throw await withKnowledge(error, named, report)
      })
    })
  } finally {
    await close()
  }
}

/** One look. Its exit code says whether that worked; with `--exit-status`, what state the job is in. */
async function look(
  session: JobSession,
  { id, kind, stored }: NamedJob,
): Promise<ModelgateError | undefined> {
  const { context, options, gateway, report } = session
  const found = await lookUpJob(gateway, { id, kind })
  report.take(found)
  await keepRecord(stored, changeOf(found), report)
  if (found.note !== undefined) report.warn(found.note)
  if (found.state === 'failed') {
    const failure = failed(found)
    report.fail(1, failure)
    return options.exitStatus ? failure : undefined
  }
  if (found.state === 'completed' || !options.exitStatus) return undefined
  return new ModelgateError('running', 'still_running', `The job ${id} is ${stateText(found)}.`, {
    phase: 'wait',
    remoteId: id,
    hint: `To wait for it: ${resumeCommand(context, id, resumeFlags(options))}`,
  })
}

/**
 * Where the videos go: as `-o` says now, else as the command said that started the job.
 * @throws UsageError, FileError for a place that cannot be written to. A name that is taken is no reason not to wait:
 *   the video gets the next one
 */
async function planFor(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  { stored, id }: NamedJob,
  gate: Gate,
): Promise<{ readonly plan: OutputPlan; readonly force: boolean }> {
  const problems = combinationProblems(context, options, true)
  if (problems.length > 0) throw new UsageError(problems)
  const record = stored?.record
  const before = options.output === undefined ? record?.output : undefined
  // Standard output is another one by now.
  const output = options.output ?? (before?.output === '-' ? undefined : (before?.output ?? undefined))
  const folder = before?.folder ?? settings.outputDir.value
  const force = options.force === true || before?.force === true
  const there = before === undefined ? context : { ...context, cwd: before.cwd }
  const place = {
    ...(output === undefined ? {} : { output }),
    ...(folder === undefined ? {} : { folder }),
    kind: 'video',
    count: videosOf(record?.request),
    model: record?.model ?? '',
    prompt: record?.prompt ?? id,
    now: record === undefined ? context.clock.now() : record.created_at * 1000,
  } as const
  const wrong = await planOutputs(there, { ...place, force: true }).check()
  if (wrong.length > 0) throwProblems(wrong)
  const plan = withCleanIds(planOutputs(there, { ...place, force }), gate)
  const isElsewhere = before !== undefined && before.cwd !== context.cwd
  return {
    plan: isElsewhere ? { ...plan, pathFor: (video) => resolve(before.cwd, plan.pathFor(video)) } : plan,
    force,
  }
}
