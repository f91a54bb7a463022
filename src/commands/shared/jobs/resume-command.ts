import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { shortIds } from '../../../events/format-job.ts'
import { shellWord } from '../../../files/file-error.ts'
import { nextCommand, withoutHeaderValues, type NextCommand } from '../../../files/next-command.ts'
import type { JobStore } from '../../../files/calls/job-store.ts'
import type { CommonOptions } from '../options/common-options.ts'

export type JobNames = Map<string, string>

/**
 * On a terminal a job is called by an unambiguous beginning of its id, in a log by the whole, which may be all that is left
 * of this machine.
 */
export async function learnName(
  { stderr }: Pick<Context, 'stderr'>,
  store: JobStore,
  names: JobNames,
  id: string,
): Promise<void> {
  if (!stderr.isTerminal) return void names.set(id, id)
  const { jobs } = await store.list()
  const others = jobs.flatMap(({ record }) => (record.id === null || record.id === id ? [] : [record.id]))
  names.set(id, shortIds([id, ...others])[0]!)
}

/** The time of `--timeout` starts now. */
export function waitLimits({ clock }: Pick<Context, 'clock'>, { timeout, pollInterval }: Settings) {
  const { value: seconds } = timeout
  return {
    pollIntervalS: pollInterval.value,
    deadlineMs: seconds === undefined ? undefined : clock.monotonic() + seconds * 1000,
  }
}

type ResumeOptions = CommonOptions & { readonly allowPrivateUrls?: true; readonly acceptMismatch?: true }

/** A job on record knows that it is in the sandbox. */
function gatewayFlags(
  { sandbox, profile, baseUrl, apiKeyFile, caFile, header = [], allowHttp }: ResumeOptions,
  isRecorded: boolean,
): string[] {
  if (sandbox) return isRecorded ? [] : ['--sandbox']
  const value = (flag: string, given: string | undefined) => (given === undefined ? [] : [flag, given])
  return [
    ...value('--profile', profile),
    ...value('--base-url', baseUrl),
    ...value('--api-key-file', apiKeyFile),
    ...withoutHeaderValues(header.flatMap((line) => ['--header', line])),
    ...value('--ca-file', caFile),
    ...(allowHttp ? ['--allow-http'] : []),
  ]
}

/**
 * Ready to paste, with the flags that it needs to do the same. A job on record knows where its result goes, if this command
 * started it.
 */
export function resumeCommand(
  context: Pick<Context, 'program'>,
  options: ResumeOptions,
  names: ReadonlyMap<string, string>,
  isStart = false,
) {
  const { json, output, force, allowPrivateUrls, acceptMismatch } = options
  const place = [...(output === undefined ? [] : ['-o', output]), ...(force ? ['--force'] : [])]
  // A text that has been printed is not printed again, unless it is only useful whole: in a file, or as one document.
  const isWhole = json === true || (output !== undefined && output !== '-')
  /** @param after the number of the event after which the stream of a response continues */
  return (given: string | readonly string[], after?: number): NextCommand => {
    const ids = [given].flat()
    const isRecorded = ids.every((id) => names.has(id))
    const words = [
      'wait',
      ...(isWhole || after === undefined ? [] : ['--stream', '--starting-after', String(after)]),
      ...gatewayFlags(options, isRecorded),
      ...(isStart && isRecorded ? [] : place),
      ...(allowPrivateUrls ? ['--allow-private-urls'] : []),
      ...(acceptMismatch ? ['--accept-mismatch'] : []),
    ]
    const operands = ids.map((id) => names.get(id) ?? id)
    const end = operands.some((id) => id.startsWith('-')) ? ['--'] : []
    return nextCommand([context.program, ...words, ...end, ...operands])
  }
}

/** @param answers flags and their values, with TEXT for what the user has to fill in */
export function answerCommand(
  { program }: Pick<Context, 'program'>,
  options: CommonOptions,
  id: string,
  answers: readonly string[],
): string {
  const model = options.model === undefined ? [] : ['-m', options.model]
  const words = [
    'respond',
    ...gatewayFlags(options, false),
    ...model,
    '--previous-response-id',
    id,
    ...answers,
  ]
  return [program, ...words.map(quoted)].join(' ')
}

/** As a word of a shell; an assignment needs no quotes for its "=". */
const quoted = (word: string) => (/^[\w.-]+=TEXT$/.test(word) ? word : shellWord(word))
