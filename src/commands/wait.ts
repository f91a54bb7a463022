import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, type ModelgateError, UsageError } from '../errors.ts'
import { recordKinds, videoKinds, type RecordKind } from '../files/calls/job-record.ts'
import { isLeftToFetch, openJobs } from '../operations/jobs.ts'
import { commonExit } from '../operations/operation.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { createProblemList } from '../problems.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { addJobOptions, findNamedJob, lastOption, type FoundJob } from './shared/jobs/named-job.ts'
import { waitOptions, type VideoOptions } from './shared/media/video-command.ts'
import { lookUpJob, optionsOfLookUps, waitForSeveral } from './shared/media/video-look-up.ts'
import { addShared, strictMeanings, isDryRun } from './shared/options/common-options.ts'
import { addAnswerOptions, followUp, type ResponseOptions } from './shared/text/response-command.ts'
import { addTextOutputOptions, takeLanguage } from './shared/text/text-command.ts'
import { settleImages, fetchImages } from '../operations/make-images.ts'
import { objectOf } from '../json.ts'
import { imageRequest, type ImageRequest } from '../operations/image-request.ts'
import { runOperation } from './shared/call/run-operation.ts'
import { resumeCommand } from './shared/jobs/resume-command.ts'
import { checkCombination, imagePlan } from './shared/media/image-command.ts'

type WaitOptions = VideoOptions & ResponseOptions & { all?: true }

/** `modelgate wait`: takes what is not here yet: videos, background responses, images at an address. */
export function registerWait(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate wait --last'],
    ['modelgate wait video_123 -o clip.mp4'],
    ['modelgate wait --all -o results/'],
  ])
  addShared(command, optionsOfLookUps, strictMeanings.videos)
  command
    .argument('[id...]', 'ids, or the beginnings of them')
    .action(async (given: string[], _: unknown, self: Command) => {
      const { options, words } = await takeLanguage(self.optsWithGlobals<WaitOptions>(), given, 'wait')
      await waitFor(context, options, words)
    })
  addTextOutputOptions(command)
  addJobOptions(command, [
    lastOption(),
    new Option('--all', 'everything on record that has not been fetched'),
    ...waitOptions(),
  ])
  addAnswerOptions(command)
}

type Found = FoundJob<WaitOptions>

/** @throws AlreadyReported for a failure; UsageError, FileError before anything is asked for */
async function waitFor(context: Context, given: WaitOptions, ids: readonly string[]): Promise<void> {
  const { all, ...options } = given
  if (Number(all === true) + Number(options.last === true) + Number(ids.length > 0) > 1) {
    throw new UsageError('Give ids, --last or --all, not several of them.', { code: 'invalid_request' })
  }
  const gate = createGate(context)
  const jobs = await findJobs(context, given, ids, gate)
  refuseForAnswers(options, jobs)
  const isOne = jobs.length === 1
  const images = jobs.filter((job) => isOf(job, ['image']))
  const responses = jobs.filter((job) => isOf(job, ['response']))
  const videos = jobs.filter((job) => isOf(job, videoKinds))
  // What expires first is taken first.
  const waits = [
    ...images.map((job) => () => fetchRecordedImages(context, job)),
    ...(isOne && videos.length === 1 ? [() => lookUpJob(context, videos[0]!, 'wait')] : []),
    ...(!isOne && (videos.length > 0 || jobs.length === 0)
      ? [() => waitForSeveral(context, options, videos, gate)]
      : []),
    ...responses.map((job) => () => followUp(context, job, 'wait')),
  ]
  if (!isOne) refuseForSeveral(context, options, waits.length)
  const failures: ModelgateError[] = []
  for (const wait of waits) {
    try {
      await wait()
    } catch (error) {
      if (waits.length === 1 || !(error instanceof AlreadyReported) || context.signal.aborted) throw error
      failures.push(error.cause as ModelgateError)
    }
  }
  const [first] = failures
  if (first === undefined) return
  throw new AlreadyReported(first.amend({ exit: commonExit(failures, waits.length) }))
}

function isOf<Kind extends RecordKind>(
  job: Found,
  kinds: readonly Kind[],
): job is FoundJob<WaitOptions, Kind> {
  return kinds.some((kind) => kind === job.named.kind)
}

/**
 * The jobs to wait for, each once; without an id the last.
 * @throws UsageError, FileError with everything that is wrong
 */
async function findJobs(
  context: Context,
  { all, ...options }: WaitOptions,
  ids: readonly string[],
  gate: Gate,
): Promise<Found[]> {
  const texts = all ? await idsLeft(context, gate) : ids
  if (!all && texts.length === 0) {
    return [await findNamedJob(context, { ...options, last: true as const }, undefined, recordKinds, gate)]
  }
  const problems = createProblemList()
  const found = new Map<string, Found>()
  for (const text of texts) {
    await problems.check(async () => {
      const job = await findNamedJob(context, options, text, recordKinds, gate)
      found.set(job.named.id, job)
    })
  }
  problems.throwIfAny()
  return [...found.values()]
}

/** The ids of all that is on record and not fetched. */
async function idsLeft(context: Context, gate: Gate): Promise<string[]> {
  const { jobs } = await openJobs(context, stateFolder(context), gate).list()
  const now = context.clock.now() / 1000
  return jobs.flatMap(({ record }) => (record.id !== null && isLeftToFetch(record, now) ? [record.id] : []))
}

/** @throws UsageError for what concerns the text of a response, where there is none among them */
function refuseForAnswers(
  { stream, startingAfter, schema, extract, render }: WaitOptions,
  jobs: readonly Found[],
): void {
  const flags = { '--stream': stream, '--starting-after': startingAfter, '--schema': schema, '-x': extract }
  const given = Object.entries({ ...flags, '--render': render }).filter(([, value]) => value !== undefined)
  if (given.length === 0 || jobs.length === 0 || jobs.some((job) => isOf(job, ['response']))) return
  throw new UsageError(given.map(([flag]) => `${flag} applies to a background response.`))
}

/** @throws UsageError for what makes sense for one result only */
function refuseForSeveral({ cwd }: Context, { output, json }: WaitOptions, documents: number): void {
  if (json && documents > 1) {
    throw new UsageError('--json prints one document, and these are of several kinds: use --jsonl.', {
      code: 'invalid_request',
    })
  }
  if (output === undefined || /[/\\]$|\{id\}/.test(output)) return
  if (statSync(resolve(cwd, output), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`-o ${output} names the results of one job, and there are several.`, {
      code: 'invalid_request',
      hint: 'Name a folder (-o DIR/), or use {id} in the name.',
    })
  }
}

/**
 * Fetches images that are on record, into this command's `-o`, otherwise into that of the command that made them.
 * @throws AlreadyReported for a failure; UsageError, FileError before anything is asked for
 */
export async function fetchRecordedImages(
  context: Context,
  { named, given, options, settings, gate, store }: FoundJob<VideoOptions, 'image'>,
): Promise<void> {
  if (isDryRun(options) || options.raw) {
    throw new UsageError(
      '--dry-run, --curl and --raw show requests to the gateway; an image is only downloaded from its URL.',
    )
  }
  checkCombination(context, { ...options, download: true })
  const { id } = named
  const stored = named.stored!
  const { record } = stored
  const made = record.made!
  const { cwd, output, folder, force } = record.output
  const inFolder = (path: string) =>
    cwd === context.cwd ? path : `${resolve(cwd, path)}${/\/$/.exec(path) ?? ''}`
  const plan = {
    ...imagePlan({ ...options, download: true }, settings),
    output: options.output ?? (output === null || output === '-' ? undefined : inFolder(output)),
    folder: folder === null ? undefined : inFolder(folder),
    force: options.force === true || force,
  }
  const problems = createProblemList()
  const request = await imageRequest(
    context,
    {
      command: record.command as ImageRequest['command'],
      model: record.model,
      family: undefined,
      body: { ...objectOf(record.request), prompt: stored.prompt() },
      images: [],
      mask: undefined,
      warnings: [],
      validate: false,
    },
    plan,
    problems,
  )
  problems.throwIfAny()
  const resume = resumeCommand(context, given, new Map([[id, id]]))
  await runOperation(context, options, settings, {
    gate,
    logged: { command: 'wait', model: record.model, jobs: [id] },
    output: () => ({ result: 'files' }),
    async operation(call) {
      const wanted = made.images.map(({ index }) => index)
      const outcome = await fetchImages(call, { ...request, wanted }, plan, made, resume(id))
      await settleImages(store, stored, outcome)
      return outcome
    },
  })
}
