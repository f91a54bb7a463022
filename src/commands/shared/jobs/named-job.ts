import { Option, type Command } from 'commander'
import { stateFolder } from '../../../context/folders.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { isStartedWith, type JobRecord, type RecordKind } from '../../../files/calls/job-record.ts'
import { shellWord } from '../../../files/file-error.ts'
import type { JobStore } from '../../../files/calls/job-store.ts'
import {
  namedJob,
  openJobs,
  unrecordedJob,
  type NamedJob,
  type RecordPlan,
} from '../../../operations/jobs.ts'
import { createGate } from '../../../output/gate.ts'
import { learnName, type JobNames } from './resume-command.ts'
import type { CommonOptions } from '../options/common-options.ts'
import { readSettings, type CommandCall } from '../gateway/open-gateway.ts'

export const lastOption = () =>
  new Option('--last', 'the job started last in this terminal, or else in this folder')

export function addJobOptions(command: Command, options: readonly Option[]): void {
  for (const option of options) command.addOption(option.helpGroup('Job:'))
}

/**
 * A job on record knows its gateway: nobody has to configure that again, with the key that started the job. Another key may
 * belong to another gateway, and is sent only where the user says.
 * @throws UsageError `other_gateway`; ConfigError where the key cannot be read
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
      code: 'other_gateway',
      hint: `Use that key (MODELGATE_API_KEY, --api-key-file), or send this one there: --base-url ${shellWord(baseUrl)}`,
    },
  )
}

export interface FoundJob<
  Options extends CommonOptions,
  Kind extends RecordKind = RecordKind,
> extends CommandCall<Options> {
  readonly named: NamedJob<Kind>
  /** As the user gave them; a hint repeats these. */
  readonly given: Options
  readonly store: JobStore
  /** What it is called in commands, if it is on record. */
  readonly names: JobNames
}

/** @param text an id, or the beginning of one; undefined with `--last` */
export async function findNamedJob<
  Options extends CommonOptions & { readonly last?: true },
  Kind extends RecordKind,
>(
  context: Context,
  given: Options,
  text: string | undefined,
  kinds: readonly Kind[],
  gate = createGate(context),
): Promise<FoundJob<Options, Kind>> {
  const store = openJobs(context, stateFolder(context), gate)
  const configured = await readSettings(context, given)
  if (given.last && text !== undefined) throw new UsageError('Give either an id or --last, not both.')
  if (!given.last && (text === undefined || text.trim() === '')) {
    throw new UsageError('No id was given.', {
      hint: 'Give an id that modelgate jobs lists, or --last for the job started last.',
    })
  }
  const stored = given.last ? await store.last(context, kinds) : await store.find(text!)
  if (given.last && stored === undefined) {
    throw new UsageError('No job is on record that was started in this terminal or folder.', {
      code: 'unknown_id',
      hint: 'Give the id of the job: modelgate jobs lists them.',
    })
  }
  const options = await optionsForJob(context, given, configured, stored?.record)
  const settings = options === given ? configured : await readSettings(context, options)
  const roots = { baseUrl: settings.baseUrl.value, betaUrl: settings.baseUrls.value?.v1beta }
  const named =
    stored === undefined
      ? unrecordedJob(text!, kinds)
      : namedJob(stored, kinds, given.sandbox === true, roots)
  const names: JobNames = new Map()
  if (stored !== undefined) await learnName(context, store, names, named.id)
  return { context, named, given, options, settings, gate, store, names }
}

export function resultLocation({ output, force }: CommonOptions, folder: string | undefined) {
  return { output: output ?? null, folder: folder ?? null, force: force === true }
}

/** How a job that this call starts is recorded. */
export function recordPlan({ context, options, settings, gate }: CommandCall): RecordPlan {
  const { profile, outputDir, history } = settings
  return {
    store: openJobs(context, stateFolder(context), gate),
    isSandbox: options.sandbox === true,
    profile: profile.value,
    terminal: context.terminalId,
    location: resultLocation(options, outputDir.value),
    keepsWords: history.value === 'full',
  }
}
