import { resolve } from 'node:path'
import { normaliseBaseUrl } from '../../../config/base-url.ts'
import type { Context } from '../../../context.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { shownPath } from '../../../files/file-error.ts'
import type { Gate } from '../../../output/gate.ts'
import { isLoopback } from '../../../loopback.ts'
import type { ProblemList } from '../../../problems.ts'
import { counted } from '../../../quantities.ts'
import type { Sandbox, SandboxOptions } from '../../../sandbox/start-sandbox.ts'
import type { CommonOptions } from '../options/common-options.ts'

/** The flags of `modelgate sandbox` that are about recordings. */
export interface RecordingFlags extends CommonOptions {
  record?: string
  upstream?: string
  replay?: string
  pace?: string
  latency?: string
}

/** What to do with recordings, and the folder of them. */
export type RecordingSettings =
  | { readonly record: string; readonly upstream: string | undefined; readonly options: CommonOptions }
  | {
      readonly replay: string
      readonly pace: 'fast' | 'real'
      /** Whether a recording that was not used, and a request without one, are failures. */
      readonly isStrict: boolean
    }

/** Flags that mean something only where a gateway is recorded, and only where recordings are played. */
const recordFlags = {
  upstream: '--upstream',
  apiKeyFile: '--api-key-file',
  profile: '--profile',
  caFile: '--ca-file',
  header: '--header',
  allowHttp: '--allow-http',
  connectTimeout: '--connect-timeout',
} as const
const replayFlags = { pace: '--pace', strict: '--strict' } as const

/** Reads the flags, and adds what is wrong with them to the problems. Undefined without `--record` and `--replay`. */
export function parseRecording(flags: RecordingFlags, problems: ProblemList): RecordingSettings | undefined {
  const { record, replay, upstream, pace = 'fast' } = flags
  const refuse = (message: string) => problems.add(new UsageError(message))
  if (record !== undefined && replay !== undefined) refuse('--record and --replay cannot be used together.')
  if (record === '' || replay === '') refuse('The folder of recordings must have a name.')
  const refuseAll = (names: Readonly<Record<string, string>>, where: string) => {
    for (const [name, flag] of Object.entries(names)) {
      if (flags[name as keyof RecordingFlags] !== undefined)
        refuse(`${flag} only means something with ${where}.`)
    }
  }
  if (record === undefined) refuseAll(recordFlags, '--record')
  if (replay === undefined) refuseAll(replayFlags, '--replay')
  if (pace !== 'fast' && pace !== 'real') return void refuse(`--pace must be fast or real, not "${pace}".`)
  if (pace === 'real' && flags.latency !== undefined) {
    refuse('--latency and --pace real cannot be used together: the recorded times are the latency.')
  }
  if (record !== undefined) return { record, upstream, options: flags }
  if (replay === undefined) return undefined
  return { replay, pace, isStrict: flags.strict === true }
}

interface OpenRecordings {
  /** The gateway that is recorded. */
  readonly upstream?: URL
  readonly options: NonNullable<SandboxOptions['recordings']>
  /** Cleans what is printed: it knows the key. */
  readonly gate: Gate
  /** Printed at the start. */
  readonly about: string
  /** Whether a caller's own key matters. */
  readonly needsKey: boolean
}

/**
 * Prepares recording or replaying.
 * @param print takes a line about a call that could not be recorded or answered
 * @throws UsageError without an upstream gateway; what the configuration throws
 */
export async function openRecordings(
  context: Context,
  settings: RecordingSettings,
  print: (line: string) => void,
): Promise<OpenRecordings> {
  // None of this is needed for the sandbox's own answers.
  const { createGate } = await import('../../../output/gate.ts')
  if ('replay' in settings) {
    const { replay, pace } = settings
    const folder = resolve(context.cwd, replay)
    const about = `Answers come from the recordings in ${shownPath(replay)} and from nothing else. Any key is accepted.`
    return {
      options: { replay: { folder, pace, report: print } },
      gate: createGate(context),
      about,
      needsKey: false,
    }
  }
  const { record, upstream: address, options } = settings
  const { networkOptions, ownHeaders, readSettings } = await import('./open-gateway.ts')
  const { locateKey } = await import('../../../config/key.ts')
  const configuration = await readSettings(context, options)
  const { allowHttp, connectTimeout, baseUrl: configured } = configuration
  const baseUrl =
    address === undefined ? configured.value : normaliseBaseUrl(address, '--upstream', allowHttp.value)
  if (baseUrl === undefined) {
    throw new UsageError('--record needs the gateway to record.', {
      hint: 'Name it with --upstream URL, or set MODELGATE_BASE_URL.',
    })
  }
  const hasKey = (await locateKey(context, configuration)) !== undefined
  const key = hasKey ? (await configuration.apiKey()).value : undefined
  const network = await networkOptions(context, configuration)
  const { createUpstream } = await import('../../../gateway/upstream.ts')
  const connectMs = connectTimeout.value ? connectTimeout.value * 1000 : undefined
  const headerValues: string[] = []
  const { headers } = await ownHeaders(context, {}, configuration, {
    hide: (secret) => void headerValues.push(secret),
  })
  const own = { baseUrl, key, headers, clock: context.clock, connectMs }
  const upstream = createUpstream({ ...own, ...network })
  const { MODELGATE_API_KEY: environmentKey = '' } = context.env
  const secrets = [environmentKey, key ?? '', ...headerValues].filter((secret) => secret !== '')
  const folder = resolve(context.cwd, record)
  const whose =
    key === undefined ? 'the key that each caller sends' : 'the configured key, whatever callers send'
  const about = `Calls go to ${baseUrl.href} with ${whose}, and cost what they cost. Recordings: ${shownPath(record)}.`
  return {
    upstream: baseUrl,
    options: { record: { folder, files: context, upstream, secrets, report: print } },
    gate: createGate(context, secrets),
    about,
    needsKey: key === undefined,
  }
}

/** @throws UsageError for a recorder that would record itself, which is known once the sandbox has started */
export function checkStart({ upstream }: OpenRecordings, sandbox: Sandbox): void {
  const { port } = new URL(sandbox.url)
  if (upstream !== undefined && isLoopback(upstream.hostname) && upstream.port === port) {
    throw new UsageError('--upstream is the address of this sandbox itself.')
  }
}

/** File names that are listed at the end. */
const maxNames = 20

/**
 * Sums up at the end.
 * @returns a line for standard error, and the failure that the process ends with, if any
 */
export function summary(
  settings: RecordingSettings,
  sandbox: Sandbox,
): { readonly line: string; readonly failure?: ModelgateError } | undefined {
  const stats = sandbox.recordings()
  if (stats === undefined) return undefined
  if (stats.mode === 'record') {
    const { recorded, refused, abandoned } = stats
    const left = abandoned === 0 ? '' : ` ${counted(abandoned, 'call')} ended by the caller, not recorded.`
    const line = `Recorded ${counted(recorded, 'call')}.${left}`
    if (refused === 0) return { line }
    const message = `${counted(refused, 'call')} could not be recorded.`
    const hint = 'The lines above say why. The callers received their replies.'
    return { line, failure: new ModelgateError('partial', 'not_recorded', message, { hint, billed: 'no' }) }
  }
  const { recordings, used, unused, missed, damaged } = stats
  const names = unused.slice(0, maxNames).join(', ') + (unused.length > maxNames ? ', …' : '')
  const problems = [
    ...(missed > 0 ? [`${counted(missed, 'request')} had no recording.`] : []),
    ...(used < recordings ? [`${counted(recordings - used, 'recording')} not used: ${names}.`] : []),
    ...(damaged.length > 0 ? [`Damaged: ${damaged.join(' ')}`] : []),
  ]
  const line = `Answered from ${used} of ${counted(recordings, 'recording')}.`
  const isFailed = 'replay' in settings && settings.isStrict && problems.length > 0
  if (!isFailed) return { line: [line, ...problems].join(' ') }
  const facts = { billed: 'no' } as const
  return { line, failure: new ModelgateError('partial', 'not_recorded', problems.join(' '), facts) }
}
