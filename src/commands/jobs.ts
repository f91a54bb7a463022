import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { stateFolder } from '../context/folders.ts'
import { isFinal, jobStates } from '../contract/videos.ts'
import { UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { JobSummary } from '../events/video.ts'
import { summaryOf } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { isPrunable, openJobs, refreshJobs } from '../operations/jobs.ts'
import { counted, roundedDuration } from '../quantities.ts'
import { jobTable } from '../output/job-table.ts'
import {
  addShared,
  type CommonOptions,
  numberOption,
  wordOption,
  addExamples,
} from './shared/options/common-options.ts'
import { openGateway, startCall, type CommandCall } from './shared/gateway/open-gateway.ts'
import { printDocument } from './shared/call/print-document.ts'
import { addJobOptions, callForJob } from './shared/jobs/named-job.ts'

interface ListOptions extends CommonOptions {
  limit?: number
  state?: string
  refresh?: true
  prune?: true
}

const states: readonly string[] = [...jobStates, 'unknown']

export function registerJobs(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate jobs'],
    ['modelgate jobs --refresh --state in_progress'],
    ['modelgate jobs --json | jq -r ".jobs[].id"'],
  ])
  addJobOptions(command, [
    numberOption('--limit <number>', 'show only this many, the newest first', 1),
    wordOption('--state <state>', `show only jobs in this state: ${states.join(', ')}`, states),
    new Option('--refresh', 'look up every unfinished job'),
    new Option('--prune', 'forget finished jobs: failed, expired, saved or answered'),
  ])
  addShared(command, 'json jsonl dryRun gateway messages')
  command.action(async (options: ListOptions) => {
    const { state, limit, prune, dryRun } = options
    const call = await startCall(context, options)
    const { settings, gate } = call
    const store = openJobs(context, stateFolder(context), gate)
    const found = await store.list()
    const warnings = [...found.warnings]
    if (options.refresh && !dryRun) warnings.push(...(await refresh(call, found.jobs)))
    const now = context.clock.now() / 1000
    const chosen = found.jobs
      .filter(({ record }) => state === undefined || record.state === state)
      .filter(({ record }) => !prune || isPrunable(record, now))
      .slice(0, limit)
    if (prune && !dryRun) await store.forget(chosen)
    const jobs = chosen.map((job) => summaryOf(job.record, job.prompt()))
    const quiet = settings.quiet.value
    const document = { version: outputVersion, command: 'jobs', jobs, warnings } as const
    await printDocument(
      context,
      options,
      document,
      (styles, columns) => jobTable(jobs, { now, columns, styles }),
      { quiet, gate, events: jobs.map((job) => ({ type: 'job-list', job })) },
    )
    if (options.json || options.jsonl || quiet) return
    // What the rows do not show: that jobs were forgotten, or that there are none.
    const { stdout, stderr } = context
    if (prune) stderr.write(`${counted(jobs.length, 'job')} ${dryRun ? 'would be ' : ''}forgotten.\n`)
    else if (jobs.length === 0) stderr.write('No jobs are on record.\n')
    else if (stdout.isTerminal) reportAge(context, jobs, now)
  })
}

/** Looks up the jobs that have not ended. Opens a gateway only when there is one on it. @returns warnings */
async function refresh(call: CommandCall<ListOptions>, all: readonly StoredJob[]): Promise<string[]> {
  const { options } = call
  const warnings: string[] = []
  const open = all.filter(({ record: { id, state } }) => id !== null && !isFinal(state))
  const groups = Map.groupBy(open, ({ record: { is_sandbox, profile, base_url } }) =>
    is_sandbox ? '' : JSON.stringify([profile, URL.parse(base_url)?.origin]),
  )
  /** By profile: without a configured address the key belongs to one gateway alone, that of the newest job. */
  const own = new Map<string, URL>()
  for (const group of groups.values()) {
    const jobs: StoredJob[] = []
    let its = call
    for (const job of group) {
      try {
        its = await callForJob(call, job.record)
        jobs.push(job)
      } catch (error) {
        if (!(error instanceof UsageError)) throw error
        warnings.push(`Not looked up. ${error.message}`)
      }
    }
    const [first] = jobs
    if (first === undefined) continue
    const { is_sandbox, base_url } = first.record
    const { baseUrl, baseUrls, profile } = its.settings
    const here = own.get(profile.value) ?? baseUrl.value
    const there = URL.parse(base_url)?.origin
    const isElsewhere = here !== undefined && there !== here.origin && there !== baseUrls.value?.v1beta.origin
    if (!is_sandbox && (options.sandbox || isElsewhere)) {
      const where = options.sandbox
        ? 'not in the sandbox, and not looked up with --sandbox.'
        : `at ${there ?? 'an unknown address'}, and not looked up at ${here?.origin}.`
      warnings.push(`${counted(jobs.length, 'job')} ${jobs.length === 1 ? 'is' : 'are'} ${where}`)
      continue
    }
    if (!is_sandbox && here !== undefined) own.set(profile.value, here)
    const opened = await openGateway(its)
    warnings.push(...(await refreshJobs(opened.gateway, jobs).finally(opened.close)))
  }
  return warnings
}

const freshSeconds = 10

function reportAge({ stderr }: Context, jobs: readonly JobSummary[], now: number): void {
  const running = jobs.filter(({ id, state }) => id !== null && !isFinal(state))
  const age = Math.max(...running.map(({ checked_at, created_at }) => now - (checked_at ?? created_at)))
  if (!(age >= freshSeconds)) return
  const which = running.length === 1 ? 'The running job is' : 'Running jobs are'
  stderr.write(`${which} shown as last seen, ${roundedDuration(age)} ago; --refresh looks again.\n`)
}
