import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { shortIds } from '../../../events/format-job.ts'
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

/** Its words, if it was given. */
export function flag(name: string, given: string | true | undefined): readonly string[] {
  return given === undefined ? [] : given === true ? [name] : [name, given]
}

/** A job on record knows that it is in the sandbox. */
export function gatewayFlags(
  { sandbox, profile, baseUrl, apiKeyFile, caFile, header = [], allowHttp }: ResumeOptions,
  isRecorded: boolean,
): readonly string[] {
  if (sandbox) return isRecorded ? [] : ['--sandbox']
  return [
    ...flag('--profile', profile),
    ...flag('--base-url', baseUrl),
    ...flag('--api-key-file', apiKeyFile),
    ...withoutHeaderValues(header.flatMap((line) => ['--header', line])),
    ...flag('--ca-file', caFile),
    ...flag('--allow-http', allowHttp),
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
  const place = [...flag('-o', output), ...flag('--force', force)]
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
      ...flag('--allow-private-urls', allowPrivateUrls),
      ...flag('--accept-mismatch', acceptMismatch),
    ]
    const operands = ids.map((id) => names.get(id) ?? id)
    const end = operands.some((id) => id.startsWith('-')) ? ['--'] : []
    return nextCommand([context.program, ...words, ...end, ...operands])
  }
}
