import { Option, type Command } from 'commander'
import { type CommonOptions, explainCommon, strictMeanings } from '../shared/common-options.ts'
import { pollSeconds } from '../../contract/videos.ts'
import type { Context } from '../../context.ts'
import { canAsk } from '../shared/text-prompt.ts'

/** The options of the commands that follow a job, beside the fields of their requests. */
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

/** The common options about a request that has been sent long ago. */
export const meaninglessToLooks: ReadonlySet<string> = new Set(
  'model body set validate usage stdinTimeout'.split(' '),
)

const last = () => new Option('--last', 'the job that was started last on this machine')
const wait = (about: string) => new Option('--wait', about)

/** For commands that start a job. */
export function addStartOptions(command: Command): void {
  explainCommon(command, strictMeanings.videos)
  addAll(command, [
    wait('wait for the video and save it (the default on a terminal)'),
    new Option('--no-wait', 'only start the job and print its id'),
    ...following(),
  ])
}

/** For the command that starts a job from another one. */
export function addRemixOptions(command: Command): void {
  addAll(command, [
    last(),
    new Option('--no-check', 'send it without looking whether the source is finished'),
  ])
  addStartOptions(command)
}

/** For the command that looks a job up. */
export function addStatusOptions(command: Command): void {
  explainCommon(command, strictMeanings.videosIfWaiting)
  addAll(command, [
    last(),
    wait('wait for the video and save it'),
    new Option('--exit-status', 'exit by the state: completed 0, failed 9, still running 11'),
    ...following(),
  ])
}

/** For the command that waits in any case. */
export function addWaitingOptions(command: Command): void {
  explainCommon(command, strictMeanings.videos)
  addAll(command, [last(), ...following()])
}

function following(): Option[] {
  return [
    new Option('--poll-interval <seconds>', `the first wait between two look-ups (${pollSeconds.first})`),
    new Option('--allow-private-urls', 'fetch results from private addresses, too'),
  ]
}

function addAll(command: Command, options: readonly Option[]): void {
  for (const option of options) command.addOption(option.helpGroup('Job:'))
}

/**
 * Which flags of one call contradict each other, each contradiction a sentence that names both.
 * @param waits whether the video is waited for and saved
 */
export function combinationProblems(
  { stdout }: Pick<Context, 'stdout'>,
  { output, json, jsonl, raw }: VideoOptions,
  waits: boolean,
): string[] {
  if (output !== '-') return []
  if (!waits) return ['-o - writes the video itself, so it needs --wait; without it only an id is printed.']
  const flags = { '--json': json, '--jsonl': jsonl, '--raw': raw }
  const documents = Object.entries(flags).filter(([, isGiven]) => isGiven)
  if (documents.length === 0 && stdout.isTerminal) {
    return ['-o - would write the bytes of a video to the terminal.']
  }
  return documents.map(([flag]) => `-o - and ${flag} would both write to standard output.`)
}

/** Whether a command that starts a job waits for it: as `--wait` says, else only for a person at a terminal. */
export function isWaitedFor(context: Context, { wait }: VideoOptions): boolean {
  return wait ?? (canAsk(context, false) && context.stdout.isTerminal)
}
