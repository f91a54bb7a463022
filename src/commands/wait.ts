import { existsSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { stateFolder } from '../context/folders.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, type ModelgateError, UsageError } from '../errors.ts'
import { recordKinds, videoKinds, type RecordKind } from '../files/calls/job-record.ts'
import { isLeftToFetch, openJobs } from '../operations/jobs.ts'
import { planOutputs } from '../files/output-plan.ts'
import { shownPath } from '../files/file-error.ts'
import { safeFileName } from '../files/file-name.ts'
import { responseCancellation, responseLookUp, responseStream } from '../gateway/responses/background.ts'
import { compileAnswerSchema } from '../operations/answer-schema.ts'
import { cancelBackground, waitForResponse } from '../operations/background-response.ts'
import { commonExit, type Listener } from '../operations/operation.ts'
import { createGate } from '../output/gate.ts'
import { createProblemList, throwProblems } from '../problems.ts'
import { addJobOptions, findNamedJob, lastOption, placeOf, type FoundJob } from './shared/jobs/named-job.ts'
import { strictMeaning, waitOptions, type VideoOptions, refuseCombinations, waitPlan } from './video.ts'
import { parseJsonFileFlag } from './shared/request/flag-values.ts'
import { addShared, isDryRun, addExamples, numberOption } from './shared/options/common-options.ts'
import {
  addTextOutputOptions,
  openOutputFile,
  takeLanguage,
  textOutput,
  textPlan,
  type TextOutputFlags,
} from './shared/text/text-command.ts'
import { objectOf } from '../json.ts'
import { runOperation, showOperation } from './shared/call/run-operation.ts'
import { waitLimits, type JobNames } from './shared/jobs/resume-command.ts'
import { fetchRecordedImages } from './image.ts'
import type { JobKind } from '../events/video.ts'
import { jobLookUp } from '../gateway/videos/job-requests.ts'
import { findSavedVideos } from '../operations/video-run.ts'
import { videoCount } from '../operations/video-request.ts'
import { lookUpVideo, waitForVideo, waitForVideos, type AwaitedJob } from '../operations/video-jobs.ts'
import { openGateway, startCall, type OpenGateway } from './shared/gateway/open-gateway.ts'

interface WaitOptions extends VideoOptions, TextOutputFlags {
  all?: true
  stream?: true
  startingAfter?: number
  schema?: string
}

export function registerWait(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate wait --last'],
    ['modelgate wait video_123 -o clip.mp4'],
    ['modelgate wait --all -o results/'],
  ])
  addShared(command, optionsOfLookUps, { strict: strictMeaning })
  command
    .argument('[id...]', 'ids, or the beginnings of them')
    .action(async (given: string[], all: WaitOptions) => {
      const { options, words } = await takeLanguage(all, given, 'wait')
      await waitFor(context, options, words)
    })
  addTextOutputOptions(command)
  addJobOptions(command, [
    lastOption(),
    new Option('--all', 'everything on record that has not been fetched'),
    ...waitOptions(),
    new Option('--stream', 'stream the answer instead of polling until it is complete'),
    numberOption('--starting-after <number>', 'stream only the events after this sequence number'),
    new Option(
      '--schema <json>',
      'JSON Schema of an answer: JSON, @file or a file name; the answer is checked',
    ),
  ])
}

const optionsOfResponses = 'dryRun curl json jsonl raw githubOutput gateway messages'

/** The specification has no request that stops another job. */
export function registerCancel(command: Command, context: Context): void {
  addExamples(command, [['modelgate cancel resp_123'], ['modelgate cancel --last --json | jq -r .state']])
  addShared(command, optionsOfResponses)
  command
    .argument('[id]', 'response id, or the beginning of one')
    .action(async (id: string | undefined, options: WaitOptions) =>
      followUp(await findNamedJob(context, options, id, ['response']), 'cancel'),
    )
  addJobOptions(command, [lastOption()])
}

const invalid = (message: string, hint?: string) => new UsageError(message, { code: 'invalid_request', hint })

type Found = FoundJob<WaitOptions>

async function waitFor(context: Context, given: WaitOptions, ids: readonly string[]): Promise<void> {
  const { all, ...options } = given
  if (Number(all === true) + Number(options.last === true) + Number(ids.length > 0) > 1) {
    throw invalid('Give ids, --last or --all, not several of them.')
  }
  const jobs = await findJobs(context, given, ids)
  const isOne = jobs.length === 1
  const images = ofKinds(jobs, ['image'])
  const responses = ofKinds(jobs, ['response'])
  const videos = ofKinds(jobs, videoKinds)
  if (responses.length === 0 && jobs.length > 0) refuseForAnswers(options)
  // What expires first is taken first.
  const waits = [
    ...images.map((job) => () => fetchRecordedImages(job)),
    ...(videos.length > 0 || jobs.length === 0
      ? [() => waitForJobs('wait', context, options, videos, isOne)]
      : []),
    ...responses.map((job) => () => followUp(job, 'wait')),
  ]
  if (!isOne) refuseForSeveral(context, options, waits.length)
  const failures: ModelgateError[] = []
  for (const wait of waits) {
    await wait().catch((error: unknown) => {
      if (waits.length === 1 || !(error instanceof AlreadyReported) || context.signal.aborted) throw error
      failures.push(error.cause as ModelgateError)
    })
  }
  const [first] = failures
  if (first === undefined) return
  throw new AlreadyReported(first.amend({ exit: commonExit(failures, waits.length) }))
}

function ofKinds<Kind extends RecordKind>(jobs: readonly Found[], kinds: readonly Kind[]) {
  return jobs.filter((job): job is FoundJob<WaitOptions, Kind> =>
    kinds.some((kind) => kind === job.named.kind),
  )
}

/** Each once; without an id the last. */
async function findJobs(context: Context, { all, ...options }: WaitOptions, ids: readonly string[]) {
  const gate = createGate(context)
  const names: JobNames = new Map()
  const { jobs } = all ? await openJobs(context, stateFolder(context), gate).list() : { jobs: [] }
  const now = context.clock.now() / 1000
  const left = jobs.flatMap(({ record }) => (isLeftToFetch(record, now) ? (record.id ?? []) : []))
  const named = ids.length === 0 ? [undefined] : ids
  const problems = createProblemList()
  const found = new Map<string, Found>()
  for (const text of all ? left : named) {
    await problems.check(async () => {
      const own = text === undefined ? { ...options, last: true as const } : options
      const job = await findNamedJob(context, own, text, recordKinds, gate, names)
      found.set(job.named.id, job)
    })
  }
  problems.throwIfAny()
  return [...found.values()]
}

function refuseForAnswers({ stream, startingAfter, schema, extract, render }: WaitOptions): void {
  const flags = { '--stream': stream, '--starting-after': startingAfter, '--schema': schema, '-x': extract }
  const given = Object.entries({ ...flags, '--render': render }).filter(([, value]) => value !== undefined)
  if (given.length === 0) return
  throw new UsageError(given.map(([flag]) => `${flag} applies to a background response.`))
}

function refuseForSeveral({ cwd }: Context, { output, json }: WaitOptions, documents: number): void {
  if (json && documents > 1) {
    throw invalid('--json prints one document, and these are of several kinds: use --jsonl.')
  }
  if (output === undefined || /[/\\]$|\{id\}/.test(output)) return
  if (statSync(resolve(cwd, output), { throwIfNoEntry: false })?.isDirectory() !== true) {
    const hint = 'Name a folder (-o DIR/), or use {id} in the name.'
    throw invalid(`-o ${output} names the results of one job, and there are several.`, hint)
  }
}

type FoundResponse = FoundJob<WaitOptions, 'response'>

/** Waits for a background response and prints its answer, or cancels it. */
async function followUp(job: FoundResponse, command: 'wait' | 'cancel'): Promise<void> {
  const { context, named, settings, resume } = job
  const wait = command === 'wait' ? await planAnswer(job) : undefined
  const warnings: string[] = []
  const plan = { ...textPlan(job), resume, ...waitLimits(context, settings) }
  await runOperation(job, {
    streamed: wait?.streamed === true,
    logged: { command, model: named.stored?.record.model || null, jobs: [named.id] },
    describeRequest(gateway) {
      if (wait === undefined) return responseCancellation(gateway, named.id)
      const { streamed, after } = wait
      return (streamed ? responseStream : responseLookUp)(gateway, named.id, after)
    },
    async output() {
      if (wait === undefined) return { result: 'job' }
      return await textOutput(job, await openAnswerFile(job, (warning) => void warnings.push(warning)))
    },
    rescue: wait && 'response.txt',
    operation: (call) =>
      wait === undefined
        ? cancelBackground(call, named, plan)
        : waitForResponse(call, named, { ...plan, ...wait, warnings }),
  })
}

async function planAnswer({ context, options, named: { stored } }: FoundResponse) {
  const { stream, startingAfter, schema } = options
  const asked = stored?.record.checks_schema ? objectOf(stored.record.request)['text'] : undefined
  const recorded = objectOf(objectOf(asked)['format'])['schema']
  const expected = schema === undefined ? recorded : await parseJsonFileFlag(context, '--schema', schema)
  return {
    streamed: stream === true || startingAfter !== undefined,
    after: startingAfter ?? -1,
    answerSchema: expected === undefined ? undefined : await compileAnswerSchema(context, expected),
  }
}

/**
 * To this command's `-o`, in a folder under the id of the response; otherwise to that of the command that started the response,
 * where a file that has appeared meanwhile is left alone.
 */
async function openAnswerFile(
  { context, options, named: { id, stored } }: FoundResponse,
  warn: (message: string) => void,
) {
  if (options.output !== undefined) {
    const given = options.output.replaceAll('{id}', safeFileName(id))
    const isFolder =
      /[/\\]$/.test(given) || (await stat(resolve(context.cwd, given)).catch(() => undefined))?.isDirectory()
    return await openOutputFile(context, {
      ...options,
      output: isFolder ? `${given.replace(/[/\\]$/, '')}/${safeFileName(id)}.txt` : given,
    })
  }
  const { output = null, cwd = '', force = false } = stored?.record.output ?? {}
  if (output === null || output === '-') return undefined
  const path = resolve(cwd, output)
  if (existsSync(path) && !force && !options.force) {
    warn(`${shownPath(path)} exists already, so the answer is printed; --force overwrites the file.`)
    return undefined
  }
  return await openOutputFile(context, { ...options, output: path, ...(force ? { force } : {}) })
}

/** Specification, endpoint 5; operations: wire notes, section 7. */
export function registerVideoStatus(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate video status video_123'],
    ['modelgate video status --last --json'],
    ['modelgate video status models/MODEL/operations/123 --wait'],
    ['modelgate video status video_123 --exit-status && echo done'],
  ])
  addShared(command, optionsOfLookUps, { strict: `with --wait, ${strictMeaning}` })
  command
    .argument('[id]', 'video id or operation name, or the beginning of one')
    .action(async (id: string | undefined, options: VideoOptions) => {
      const found = await findNamedJob(context, options, id, videoKinds)
      if (!options.wait) return await lookUp(found)
      await waitForJobs('video status', context, options, [found], true)
    })
  addJobOptions(command, [
    lastOption(),
    new Option('--wait', 'wait for the video and save it'),
    new Option('--exit-status', 'exit code by state: completed 0, failed 9, still running 11'),
    ...waitOptions(),
  ])
}

const optionsOfLookUps = 'dryRun curl output json force jsonl raw githubOutput strict gateway messages'

type FoundVideo = FoundJob<VideoOptions, JobKind>
type PlannedJob = FoundVideo & AwaitedJob

async function lookUp(found: FoundVideo): Promise<void> {
  const { named, options, resume } = found
  if (options.output !== undefined) {
    throw invalid('-o needs --wait; without it only the state is printed.')
  }
  const reportsState = options.exitStatus === true
  await runOperation(found, {
    describeRequest: (gateway) => jobLookUp(gateway, named),
    output: () => ({ result: 'job', resume }),
    operation: (call) => lookUpVideo(call, named, { reportsState, resume }),
  })
}

/** Of videos that were saved earlier no gateway is asked. @param isOne whether the document is that of a single job */
async function waitForJobs(
  command: 'video status' | 'wait',
  context: Context,
  given: VideoOptions,
  found: readonly FoundVideo[],
  isOne: boolean,
): Promise<void> {
  if (!isOne && isDryRun(given)) {
    throw invalid('--dry-run and --curl show one request: give one id.')
  }
  const problems = createProblemList()
  const jobs: PlannedJob[] = []
  for (const job of found) {
    await problems.check(async () => void jobs.push(await planWait(job)))
    // What is wrong with -o is the same for all of them.
    if (given.output !== undefined) problems.throwIfAny()
  }
  problems.throwIfAny()
  const ids = jobs.map(({ named }) => named.id)
  const resume = jobs[0]?.resume
  const view = { result: 'files', ...(isOne ? {} : { jobs: ids }), resume } as const
  const unsaved = jobs.filter(({ saved }) => saved === undefined)
  const report = (listener: Listener, awaited: readonly AwaitedJob[]) =>
    isOne
      ? waitForVideo(listener, command, awaited[0]!)
      : waitForVideos({ listener, signal: context.signal }, awaited)
  const [first] = isDryRun(given) ? jobs : unsaved
  if (first === undefined) {
    const [job] = jobs
    const call = job ?? (await startCall(context, given))
    return void (await showOperation(call, view, (listener) => report(listener, jobs)).finally(() => {
      if (!call.settings.quiet.value) context.stderr.write(savedNote(jobs))
    }))
  }
  const { named } = first
  await runOperation(first, {
    logged: { command, model: (isOne && named.stored?.record.model) || null, jobs: ids },
    describeRequest: (gateway) => jobLookUp(gateway, named),
    output: () => view,
    async operation(call) {
      const { listener } = call
      const calls = new Map([[gatewayOf(first), call]])
      const opened: OpenGateway[] = []
      try {
        for (const job of unsaved) {
          if (calls.has(gatewayOf(job))) continue
          const next = await openGateway(job, false, listener)
          opened.push(next)
          calls.set(gatewayOf(job), { ...call, gateway: next.gateway, hasSent: next.hasSent })
        }
        const called = jobs.map((job) => ({ ...job, call: calls.get(gatewayOf(job)) }))
        return await report(listener, called)
      } finally {
        for (const gateway of opened) await gateway.close()
      }
    },
  })
}

/** Which jobs are on the same gateway, reached with the same settings. */
const gatewayOf = ({ options: { sandbox }, settings: { baseUrl, profile } }: PlannedJob) =>
  JSON.stringify([sandbox === true, baseUrl.value?.href, profile.value])

/** An existing file is no problem: the video gets the next free name. */
async function planWait(job: FoundVideo): Promise<PlannedJob> {
  const { context, options, named, gate } = job
  const { id, stored } = named
  refuseCombinations(context, options, true)
  const record = stored?.record
  const { force, ...place } = placeOf(job)
  const output = planOutputs(context, {
    ...place,
    kind: 'video',
    force: true,
    model: record?.model ?? '',
    prompt: stored?.prompt() || id,
    count: videoCount(record?.request),
    now: record === undefined ? context.clock.now() : record.created_at * 1000,
  })
  throwProblems(await output.check())
  const plan = { ...waitPlan(job, job.resume), output, force }
  const saved = plan.refetch ? undefined : await findSavedVideos(context, named, output, gate)
  return { ...job, plan, saved }
}

function savedNote(jobs: readonly PlannedJob[]): string {
  if (jobs.length === 0) return 'There is nothing left to wait for.\n'
  const { length } = jobs.flatMap(({ saved = [] }) => saved)
  const saved = length === 1 ? 'The video was' : `The ${length} videos were`
  const them = length === 1 ? 'it' : 'them'
  return `${saved} saved earlier, and no gateway was contacted; --force fetches ${them} again.\n`
}
