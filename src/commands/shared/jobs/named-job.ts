import { Option, type Command } from 'commander'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { isStartedWith, type JobFamily, type JobRecord } from '../../../files/jobs/job-record.ts'
import { shellWord } from '../../../files/file-error.ts'
import type { JobStore, StoredJob } from '../../../files/jobs/job-store.ts'
import { pollSeconds } from '../../../limits.ts'
import { lastJob, namedJob } from '../../../operations/jobs.ts'
import type { CommonOptions } from '../options/common-options.ts'
import { readSettings } from '../gateway/open-gateway.ts'

export const lastOption = (noun = 'job') => new Option('--last', `the ${noun} started last on this machine`)

/** Adds the options that are about a job. */
export function addJobOptions(command: Command, options: readonly Option[]): void {
  for (const option of options) command.addOption(option.helpGroup('Job:'))
}

export const pollOption = () =>
  new Option('--poll-interval <seconds>', `seconds before the first look-up (${pollSeconds.first})`)

/**
 * The options for a job on record, which knows its gateway: nobody has to configure that again, with the key that
 * started the job. Another one may belong to another gateway, and is sent only where the user says.
 * @param settings those that the options lead to
 * @throws UsageError `other_key`; ConfigError where the key cannot be read
 */
export async function optionsForJob<Options extends CommonOptions>(
  context: Context,
  given: Options,
  settings: Settings,
  record: Pick<JobRecord, 'id' | 'is_sandbox' | 'profile' | 'base_url' | 'key_digest'> | undefined,
): Promise<Options> {
  if (given.sandbox || record === undefined) return given
  if (record.is_sandbox) return { ...given, sandbox: true }
  if (record.profile === undefined) return given
  const { base_url: baseUrl, profile } = record
  const isChosen = settings.profile.level !== 'default'
  const options = isChosen || profile === settings.profile.value ? given : { ...given, profile }
  const own = options === given ? settings : await readSettings(context, options)
  if (own.baseUrl.value !== undefined || own.profile.value !== profile) return options
  if (isStartedWith(record, (await own.apiKey()).value)) return { ...options, baseUrl }
  throw new UsageError(
    `The job ${record.id ?? ''} was started at ${baseUrl}, ${
      record.key_digest === undefined
        ? 'by a version that does not say with which key'
        : 'with another key than the one that is configured now'
    }.`,
    {
      code: 'other_key',
      hint: `Use that key (MODELGATE_API_KEY, --api-key-file), or send this one there: --base-url ${shellWord(baseUrl)}`,
    },
  )
}

/** @throws UsageError for a file that a command would leave unwritten, since it does not wait for the result */
export function refuseUnwritten({ output }: CommonOptions, waits: boolean): void {
  if (output === undefined || waits) return
  throw new UsageError('-o needs --wait; without it only the state is printed.', { code: 'invalid_request' })
}

/** A job on record, by its id on the gateway. */
interface RecordedJob<Family extends JobFamily> {
  readonly id: string
  readonly kind: Family['kinds'][number]
  readonly stored: StoredJob<Family>
}

/** A job, and the options and settings of its gateway. */
export interface FoundJob<Options, Named> {
  readonly named: Named
  readonly options: Options
  readonly settings: Settings
}

/**
 * The job that a command is about, and the options and settings of its gateway.
 * @param text an id, or the beginning of one; undefined with `--last`
 * @throws UsageError without a job, and as `findJob` and `lastJob` do
 */
export async function findNamedJob<
  Options extends CommonOptions & { readonly last?: true },
  Family extends JobFamily,
  Unrecorded,
>(
  context: Context,
  store: JobStore<Family>,
  given: Options,
  text: string | undefined,
  { unrecorded, toGive }: { unrecorded(id: string): Unrecorded; readonly toGive: string },
): Promise<FoundJob<Options, Unrecorded | RecordedJob<Family>>> {
  const configured = await readSettings(context, given)
  if (given.last && text !== undefined) throw new UsageError('Give either an id or --last, not both.')
  if (!given.last && (text === undefined || text.trim() === '')) {
    throw new UsageError('No id was given.', {
      code: 'id_missing',
      hint: `Give ${toGive}, or --last for the one started last.`,
    })
  }
  const stored = given.last ? await lastJob(store) : await store.find(text!)
  const options = await optionsForJob(context, given, configured, stored?.record)
  const settings = options === given ? configured : await readSettings(context, options)
  const { baseUrl, baseUrls } = settings
  const betaUrl = baseUrls.value?.v1beta
  const gateway = { isSandbox: given.sandbox === true, baseUrl: baseUrl.value, betaUrl }
  const named = stored === undefined ? unrecorded(text!) : namedJob(stored, gateway)
  return { named, options, settings }
}
