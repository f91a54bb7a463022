import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { stateFolder } from '../../../context/folders.ts'
import type { Context } from '../../../context.ts'
import { UsageError, type ErrorCode } from '../../../errors.ts'
import { isStartedWith, type JobRecord, type RecordKind } from '../../../files/calls/job-record.ts'
import { shellWord } from '../../../files/file-error.ts'
import { literalTemplate } from '../../../files/output-plan.ts'
import type { JobStore, StoredJob } from '../../../files/calls/job-store.ts'
import { isOwnOrigin } from '../../../gateway/url.ts'
import { openJobs, unrecordedJob, type NamedJob, type RecordPlan } from '../../../operations/jobs.ts'
import { createGate } from '../../../output/gate.ts'
import { learnName, resumeCommand, type JobNames } from './resume-command.ts'
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
export async function callForJob<Options extends CommonOptions>(
  call: CommandCall<Options>,
  record: JobRecord | undefined,
): Promise<CommandCall<Options>> {
  const { context, options: given, settings } = call
  const withOptions = async (options: Options) => {
    return { ...call, options, settings: await readSettings(context, options) }
  }
  if (given.sandbox || record === undefined) return call
  if (record.is_sandbox) return await withOptions({ ...given, sandbox: true })
  const { id, base_url: baseUrl, profile, key_digest: digest } = record
  if (profile === undefined) return call
  const isChosen = settings.profile.level !== 'default'
  const own = isChosen || profile === settings.profile.value ? call : await withOptions({ ...given, profile })
  if (own.settings.baseUrl.value !== undefined || own.settings.profile.value !== profile) return own
  const { value: key } = await own.settings.apiKey()
  if (isStartedWith(record, key)) return await withOptions({ ...own.options, baseUrl })
  const how =
    digest === undefined
      ? 'by a version that does not say with which key'
      : 'with another key than the one that is configured now'
  throw new UsageError(`The job ${id ?? ''} was started at ${baseUrl}, ${how}.`, {
    code: 'other_gateway',
    hint: `Use that key (MODELGATE_API_KEY, --api-key-file), or send this one there: --base-url ${shellWord(baseUrl)}`,
  })
}

export interface FoundJob<
  Options extends CommonOptions,
  Kind extends RecordKind = RecordKind,
> extends CommandCall<Options> {
  readonly named: NamedJob<Kind>
  /** As the user gave them; a hint repeats these. */
  readonly given: Options
  readonly store: JobStore
  /** The command that waits for it. */
  readonly resume: ReturnType<typeof resumeCommand>
}

/**
 * @param text an id, or the beginning of one; undefined with `--last`
 * @param names what jobs on record are called in commands, of several that one command waits for
 */
export async function findNamedJob<
  Options extends CommonOptions & { readonly last?: true },
  Kind extends RecordKind,
>(
  context: Context,
  given: Options,
  text: string | undefined,
  kinds: readonly Kind[],
  gate = createGate(context),
  names: JobNames = new Map(),
): Promise<FoundJob<Options, Kind>> {
  const store = openJobs(context, stateFolder(context), gate)
  const settings = await readSettings(context, given)
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
  const call = await callForJob({ context, options: given, settings, gate }, stored?.record)
  const named = stored === undefined ? unrecordedJob(text!, kinds) : recordedJob(call, stored, kinds)
  if (stored !== undefined) await learnName(context, store, names, named.id)
  return { ...call, named, given, store, resume: resumeCommand(context, given, names) }
}

/** @throws UsageError if its id is unknown, it is of another kind, or on another gateway */
function recordedJob<Kind extends RecordKind>(
  { options: { sandbox }, settings: { baseUrl, baseUrls } }: CommandCall,
  stored: StoredJob,
  kinds: readonly Kind[],
): NamedJob<Kind> {
  const { id, kind: known, idempotency_key: key, is_sandbox, base_url } = stored.record
  const refusal = (message: string, code: ErrorCode, hint?: string) => new UsageError(message, { code, hint })
  if (id === null) {
    const why = "the gateway's reply never arrived or could not be read"
    const message = `The id of the job is unknown, since ${why}. Its idempotency key is ${key}.`
    throw refusal(message, 'unknown_id', 'Ask the gateway whether it exists before you start it again.')
  }
  const kind = kinds.find((one) => one === known)
  if (kind === undefined) {
    const isTaken = known === 'image' || known === 'response'
    const hint = isTaken
      ? `To take it: modelgate wait ${shellWord(id)}`
      : 'It cannot be cancelled: the gateway has no request for that.'
    throw refusal(`${id} is ${nouns[known]}.`, 'unknown_id', hint)
  }
  if (is_sandbox) return { id, kind, stored }
  if (sandbox) throw refusal(`The job ${id} was started on a gateway: leave out --sandbox.`, 'other_gateway')
  const here = baseUrl.value
  const isHere = here && isOwnOrigin({ baseUrl: here, betaUrl: baseUrls.value?.v1beta }, new URL(base_url))
  if (isHere) return { id, kind, stored }
  const contrast = here === undefined ? 'and no gateway is configured' : `not on ${here.origin}`
  const hint = `Add --base-url ${shellWord(base_url)}, or the --profile of that gateway.`
  throw refusal(`The job ${id} was started on ${base_url}, ${contrast}.`, 'other_gateway', hint)
}

const nouns = {
  video: 'a video',
  operation: 'the operation of a video',
  response: 'a background response',
  image: 'an image that has not been fetched',
} as const satisfies Record<RecordKind, string>

/** To this command's `-o`, otherwise to where the command that started the job would have saved its results. */
export function placeOf({ context, options, settings, named: { stored } }: FoundJob<CommonOptions>) {
  const before = options.output === undefined ? stored?.record.output : undefined
  const { cwd = context.cwd, folder = null, force = false } = before ?? {}
  const inFolder = (name: string, from: string) =>
    cwd === context.cwd ? name : `${resolve(from, name)}${/\/$/.exec(name) ?? ''}`
  // Standard output is not that of the earlier command.
  const earlier = before?.output === '-' ? null : before?.output
  return {
    output: options.output ?? (earlier ? inFolder(earlier, literalTemplate(cwd)) : null),
    folder: inFolder(folder ?? settings.outputDir.value ?? '.', cwd),
    force: options.force === true || force,
  }
}

/** How a job that this call starts is recorded. @param names take what it is called in commands */
export function recordPlan(
  { context, options, settings, gate }: CommandCall,
  names: JobNames = new Map(),
): RecordPlan {
  const { output = null, force = false, sandbox = false } = options
  const { profile, outputDir, history } = settings
  const store = openJobs(context, stateFolder(context), gate)
  return {
    store,
    start: { is_sandbox: sandbox, profile: profile.value, terminal: context.terminalId },
    place: { output, folder: outputDir.value ?? null, force },
    keepsWords: history.value === 'full',
    onRecorded: (id) => learnName(context, store, names, id),
  }
}
