import { Option, type Command } from 'commander'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { pollSeconds } from '../../contract/videos.ts'
import { UsageError } from '../../errors.ts'
import type { JobStore } from '../../files/jobs/job-store.ts'
import { findJob, lastJob, type JobGateway, type NamedJob } from '../../operations/jobs.ts'
import type { WaitPlan } from '../../operations/wait-for-video.ts'
import { resumeCommand } from '../../output/resume-command.ts'
import type { CommonOptions } from './common-options.ts'

/** The options of the commands about one job, beside the fields of their requests. */
export interface VideoOptions extends CommonOptions {
  /** Undefined: whether somebody sits at a terminal. */
  wait?: boolean
  pollInterval?: string
  allowPrivateUrls?: true
  /** False after `--no-check`. */
  check?: boolean
  last?: true
  exitStatus?: true
}

export const lastOption = () => new Option('--last', 'the job that was started last on this machine')

/** Adds the options that are about a job. */
export function addJobOptions(command: Command, options: readonly Option[]): void {
  for (const option of options) command.addOption(option.helpGroup('Job:'))
}

/** How a job is waited for. */
export function waitOptions(): Option[] {
  return [
    new Option('--poll-interval <seconds>', `the first wait between two look-ups (${pollSeconds.first})`),
    new Option('--allow-private-urls', 'fetch results from private addresses, too'),
  ]
}

/**
 * @param waits whether the video is waited for and saved
 * @throws UsageError that names both flags of each contradiction
 */
export function refuseCombinations(
  { stdout }: Pick<Context, 'stdout'>,
  { output, json, jsonl, raw }: VideoOptions,
  waits: boolean,
): void {
  if (output !== '-') return
  const refuse = (problems: string | readonly string[]) => {
    throw new UsageError(problems, { code: 'invalid_request' })
  }
  if (!waits) {
    refuse('-o - writes the video itself, so it needs --wait; without it only an id is printed.')
  }
  const flags = { '--json': json, '--jsonl': jsonl, '--raw': raw }
  const documents = Object.entries(flags).filter(([, isGiven]) => isGiven)
  if (documents.length > 0) {
    refuse(documents.map(([flag]) => `-o - and ${flag} would both write to standard output.`))
  }
  if (stdout.isTerminal) refuse('-o - would write the bytes of a video to the terminal.')
}

/**
 * The job that a command is about.
 * @param text an id, or the beginning of one; undefined with `--last`
 * @throws UsageError without a job, and as `findJob` and `lastJob` do
 */
export async function findNamedJob(
  store: JobStore,
  { last, sandbox }: VideoOptions,
  { baseUrl }: Settings,
  text: string | undefined,
): Promise<NamedJob> {
  const gateway: JobGateway = { isSandbox: sandbox === true, baseUrl: baseUrl.value }
  if (last && text !== undefined) throw new UsageError('Give either an id or --last, not both.')
  if (last) return lastJob(store, gateway)
  if (text !== undefined && text.trim() !== '') return findJob(store, text, gateway)
  throw new UsageError('No job was given.', {
    code: 'id_missing',
    hint: 'Give the id of a video or the name of an operation, or --last for the job started last.',
  })
}

/** How a job is waited for, as the flags say; the time of `--timeout` counts from now. */
export function waitPlan(
  context: Context,
  options: VideoOptions,
  { timeout, pollInterval }: Settings,
): Omit<WaitPlan, 'output' | 'force'> {
  const { clock } = context
  return {
    refetch: options.output !== undefined || options.force === true,
    isCopy: options.output !== undefined,
    allowPrivateUrls: options.allowPrivateUrls === true,
    strict: options.strict === true,
    pollIntervalS: pollInterval.value,
    deadlineMs: timeout.value === undefined ? undefined : clock.monotonic() + timeout.value * 1000,
    resume: resumeWith(context, options),
  }
}

/** The command that waits for a job, to be pasted into a shell. */
export function resumeWith(context: Context, options: VideoOptions): (id: string) => string {
  return (id) => resumeCommand(context, id, resumeFlags(options))
}

/** What a command that goes on with the job has to repeat to find the same gateway. */
export function resumeFlags({ sandbox, profile, baseUrl }: VideoOptions): string[] {
  return [
    ...(sandbox ? ['--sandbox'] : []),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(baseUrl === undefined || sandbox ? [] : ['--base-url', baseUrl]),
  ]
}
