import { Option, type Command } from 'commander'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { unknownJobDays } from '../../contract/limits.ts'
import { outputVersion } from '../../events/schema.ts'
import { videoStates } from '../../contract/videos.ts'
import { UsageError, asModelgateError } from '../../errors.ts'
import { summaryOf, type JobRecord } from '../../files/jobs/job-record.ts'
import type { StoredJob } from '../../files/jobs/job-store.ts'
import { createOutput } from '../../output/create-output.ts'
import { createGate, type Gate } from '../../output/gate.ts'
import { isExpired, jobTable } from '../../output/job-table.ts'
import type { Output } from '../../output/output.ts'
import { type CommonOptions, refuseSome } from '../shared/common-options.ts'
import { addExamples, type Example } from '../shared/help-layout.ts'
import { openGateway, readSettings } from '../shared/open-gateway.ts'
import { createProblemList } from '../shared/problem-list.ts'
import { openJobs } from './jobs.ts'
import { videosOf } from './video-request.ts'
import { hasEnded } from '../../contract/video-state.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { lookUpJob } from '../../gateway/videos/look-up-job.ts'
import { changeOf } from './job-session.ts'

interface ListOptions extends CommonOptions {
  limit?: string
  state?: string
  refresh?: true
  prune?: true
}

const listedStates: readonly string[] = [...videoStates, 'unknown']

/** The common options that have nothing to act on here. */
const refused: ReadonlySet<string> = new Set(
  'model output force raw usage strict body set validate curl stdinTimeout'.split(' '),
)

const videoListExamples: readonly Example[] = [
  ['modelgate video list'],
  ['modelgate video list --refresh --state in_progress'],
  ['modelgate video list --json | jq -r ".jobs[].id"'],
  ['modelgate video list --prune', 'forget what is over'],
]

/** `modelgate video list`: the jobs that this machine has on record. */
export function registerVideoList(command: Command, context: Context): void {
  addExamples(command, context, videoListExamples)
  const own = [
    new Option('--limit <number>', 'show only the newest so many'),
    new Option('--state <state>', `show only jobs in this state: ${listedStates.join(', ')}`),
    new Option('--refresh', 'look up every job that has not ended'),
    new Option(
      '--prune',
      `forget jobs that failed, expired or are saved, or were not heard of for ${unknownJobDays} days`,
    ),
  ]
  for (const option of own) command.addOption(option.helpGroup('Job:'))
  refuseSome(command, refused)
  command.action(async (_: unknown, self: Command) => listJobs(context, self.optsWithGlobals<ListOptions>()))
}

/** @throws UsageError; what `refreshJobs` throws */
async function listJobs(context: Context, options: ListOptions): Promise<void> {
  const problems = createProblemList()
  const settings = await problems.step(() => readSettings(context, options))
  const limit = await problems.step(() => parseLimit(options.limit))
  await problems.step(() => checkState(options.state))
  problems.throwAny()
  const gate = createGate(context)
  const store = openJobs(context, gate)
  const { jobs, warnings: damaged } = await store.list()
  const warnings: string[] = [...damaged]
  if (options.refresh && !options.dryRun) {
    await refreshJobs(jobs, {
      options,
      settings: settings!,
      warn: (message) => void warnings.push(message),
      open: () => openGateway(context, options, settings!, false, () => undefined, gate),
    })
  }
  const now = context.clock.now() / 1000
  const chosen = jobs
    .filter(({ record }) => options.state === undefined || record.state === options.state)
    .filter(({ record }) => !options.prune || isPrunable(record, now))
    .slice(0, limit)
  if (options.prune && !options.dryRun) await store.forget(chosen)
  await show(context, options, settings!, { chosen, warnings, gate, now })
}

interface Listing {
  readonly chosen: readonly StoredJob[]
  readonly warnings: readonly string[]
  readonly gate: Gate
  /** Unix seconds. */
  readonly now: number
}

async function show(
  context: Context,
  options: ListOptions,
  settings: Settings,
  { chosen, warnings, gate, now }: Listing,
): Promise<void> {
  const { stdout } = context
  const output: Output = createOutput(context, {
    mode: options.json ? 'json' : options.jsonl ? 'jsonl' : undefined,
    result: 'job',
    quiet: settings.quiet.value,
    usage: false,
    gate,
  })
  const jobs = chosen.map(({ record }) => summaryOf(record))
  output.event({ type: 'start', version: outputVersion, command: 'video list', model: null })
  for (const job of jobs) output.event({ type: 'job-list', job })
  for (const message of warnings) output.event({ type: 'warning-add', message })
  if (!options.json && !options.jsonl) {
    stdout.write(gate.text(jobTable(jobs, { now, columns: stdout.isTerminal ? stdout.columns : undefined })))
    if (!settings.quiet.value) tellCount(context, options, jobs.length)
  }
  await output.end({ version: outputVersion, command: 'video list', jobs, warnings })
}

/** What the rows are does not stand in them. */
function tellCount({ stderr }: Context, { prune, dryRun }: ListOptions, count: number): void {
  const jobs = count === 1 ? '1 job' : `${count} jobs`
  if (prune) stderr.write(dryRun ? `${jobs} would be forgotten.\n` : `${jobs} forgotten.\n`)
  else if (count === 0) stderr.write('No jobs are on record.\n')
}

/** Whether nothing is lost with the record: no result is left to be fetched, and none is to come. */
function isPrunable(record: JobRecord, now: number): boolean {
  const { state, files, result, request, checked_at, created_at } = record
  if (state === 'failed' || isExpired(record, now)) return true
  // A result is on record once all of its videos are saved.
  if (state === 'completed') return result !== undefined || files.length >= videosOf(request)
  return now - (checked_at ?? created_at) > unknownJobDays * 86_400
}

function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new UsageError(`--limit ${JSON.stringify(text)} is not a number of jobs, from 1 on.`)
}

function checkState(state: string | undefined): void {
  if (state === undefined || listedStates.includes(state)) return
  throw new UsageError(`--state ${JSON.stringify(state)} is none of ${listedStates.join(', ')}.`)
}

/** So many jobs are asked for at once. */
const atOnce = 4

interface Refresh {
  readonly options: CommonOptions
  readonly settings: Settings
  readonly open: () => Promise<{ readonly gateway: Gateway; close(): Promise<void> }>
  readonly warn: (message: string) => void
}

/**
 * Looks up every job that has not ended, and puts on record what comes. A look-up that fails is a warning.
 * @throws the reason of the signal; what opening the gateway throws, unless there is nothing to look up
 */
async function refreshJobs(jobs: readonly StoredJob[], refresh: Refresh): Promise<void> {
  const { open, warn } = refresh
  const waiting = placed(
    jobs.filter(({ record }) => record.id !== null && !hasJobEnded(record)),
    refresh,
  )
  if (waiting.length === 0) return
  const { gateway, close } = await open()
  const rest = waiting.values()
  const work = async () => {
    for (const job of rest) await refreshJob(gateway, job, warn)
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    await close()
  }
}

/** The jobs of the gateway that is asked; a job of another is only told of. */
function placed(jobs: readonly StoredJob[], { options, settings, warn }: Refresh): StoredJob[] {
  const inSandbox = jobs.filter(({ record }) => record.is_sandbox)
  const outside = jobs.filter(({ record }) => !record.is_sandbox)
  if (options.sandbox) {
    if (outside.length > 0) warn(`${counted(outside)} not in the sandbox, and not looked up with --sandbox.`)
    return inSandbox
  }
  if (inSandbox.length > 0) {
    const them = inSandbox.length === 1 ? 'it' : 'them'
    warn(`${counted(inSandbox)} in the sandbox: add --sandbox to look ${them} up.`)
  }
  const configured = settings.baseUrl.value
  const here = configured?.origin
  const elsewhere = outside.filter(({ record }) => here !== undefined && originOf(record) !== here)
  for (const place of new Set(elsewhere.map(({ record }) => originOf(record)))) {
    const there = elsewhere.filter(({ record }) => originOf(record) === place)
    warn(`${counted(there)} at ${place}, and not looked up at ${here}.`)
  }
  return outside.filter((job) => !elsewhere.includes(job))
}

async function refreshJob(gateway: Gateway, job: StoredJob, warn: (message: string) => void): Promise<void> {
  const { id, kind } = job.record
  try {
    await job.update(changeOf(await lookUpJob(gateway, { id: id!, kind })))
  } catch (error) {
    if (gateway.signal.aborted) throw error
    warn(`${id}: ${asModelgateError(error, gateway.trace !== undefined).message}`)
  }
}

function hasJobEnded({ state }: StoredJob['record']): boolean {
  return state !== 'unknown' && hasEnded(state)
}

function originOf({ base_url }: StoredJob['record']): string {
  return URL.parse(base_url)?.origin ?? 'an unknown address'
}

function counted({ length }: readonly StoredJob[]): string {
  return length === 1 ? '1 job is' : `${length} jobs are`
}
