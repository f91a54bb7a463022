import type { Command } from 'commander'
import { resolveSettings } from '../config/settings.ts'
import { sandboxFolder } from '../context/folders.ts'
import type { Context } from '../context.ts'
import type { LatencyProfile, Sandbox } from '../sandbox/start-sandbox.ts'
import { createGate, type Gate } from '../output/gate.ts'
import {
  addShared,
  type CommonOptions,
  numberOption,
  wordOption,
  addExamples,
} from './shared/options/common-options.ts'
import { badPorts, normaliseBaseUrl } from '../config/base-url.ts'
import { Interrupted, UsageError, ModelgateError } from '../errors.ts'
import { parseYaml } from '../config/parse-config.ts'
import { decodeText, readInputFile } from '../files/input-file.ts'
import { shownPath } from '../files/file-error.ts'
import type { FaultRule } from '../sandbox/faults/fault-rule.ts'
import { settingVariables } from '../platform.ts'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { isLoopback } from '../loopback.ts'
import { counted } from '../quantities.ts'

export interface SandboxSettings extends CommonOptions {
  port: number
  seed: number
  latency?: LatencyProfile
  faults?: string
  record?: string
  upstream?: string
  replay?: string
  pace?: 'fast' | 'real'
}

const maxLineLength = 2000

const taken = 'apiKeyFile profile caFile header allowHttp connectTimeout strict quiet debug'
const meanings = {
  apiKeyFile: 'with --record: file that holds the key',
  profile: 'with --record: named profile of the configuration',
  header: "with --record: header for the gateway, 'Name: value' (repeatable)",
  caFile: 'with --record: certificate authority to trust (PEM)',
  allowHttp: 'with --record: allow an http:// URL on another host',
  connectTimeout: 'with --record: limit for connecting (10)',
  strict: 'with --replay: fail for what was not used or not found',
}

const faultFile = `
A fault file lists rules (YAML or JSON):
  - { id: cut, action: reset,
      at: mid-event, probability: 0.1 }
  - { id: busy, endpoint: responses,
      attempt: 1, action: status,
      status: 429,
      headers: { retry-after: 1 } }`

export function registerSandbox(command: Command, context: Context, run = runSandbox): void {
  addExamples(command, [
    ['modelgate sandbox', 'on any free port, until Ctrl-C'],
    ['modelgate sandbox --port 8080', 'on a fixed port'],
    ['modelgate sandbox --faults faults.yaml', 'with faults, to test a script'],
    ['modelgate sandbox --record calls --upstream URL', 'record a gateway'],
    ['modelgate sandbox --replay calls --strict', 'answer from recordings'],
  ])
  addShared(command, taken, meanings)
  command
    .addOption(numberOption('--port <number>', 'port on 127.0.0.1 (any free one)', 0, 65_535).default(0))
    .option('--faults <file>', 'fault rules: a YAML or JSON file')
    .option('--latency <profile>', 'none, natural, or milliseconds between events (natural)', parseLatency)
    .addOption(numberOption('--seed <number>', 'seed for repeatable answers, ids and faults (1)').default(1))
    .option('--record <folder>', 'forward calls to a gateway, and record them')
    .option('--upstream <url>', 'the gateway to record (the configured one)')
    .option('--replay <folder>', 'answer only from recordings')
    .addOption(wordOption('--pace <pace>', 'fast, or real: as recorded (fast)', ['fast', 'real']))
    .addHelpText('after', faultFile)
    .action(async (flags: SandboxSettings) => {
      const { port, record, replay } = flags
      if (port !== 0 && badPorts.has(port)) {
        throw new UsageError(
          `--port ${port} belongs to another protocol: HTTP clients refuse to connect to it.`,
          { hint: 'Choose a port above 1024, such as 8080, or leave --port out.' },
        )
      }
      checkRecording(flags)
      const usual = record === undefined && replay === undefined ? 'natural' : 'none'
      await run(context, { ...flags, latency: flags.latency ?? usual })
    })
}

function parseLatency(value: string): LatencyProfile {
  if (value === 'none' || value === 'natural') return value
  if (/^\d{1,6}$/.test(value)) return Number(value)
  throw new UsageError(`--latency must be none, natural or a number of milliseconds, not "${value}".`)
}

/**
 * Serves until the context's signal is aborted.
 * @throws ModelgateError (exit 12) in the end for calls that could not be recorded, and with `--strict` for recordings that
 *   do not match the requests; else always the reason of the signal
 */
export async function runSandbox(context: Context, settings: SandboxSettings): Promise<never> {
  const { stdout, stderr, signal, clock } = context
  const { record, port, seed, latency = 'none', quiet, strict } = settings
  const faults = settings.faults === undefined ? [] : await readFaults(context, settings.faults)
  const { families } = await resolveSettings(context, { sandbox: true })
  const gate = createGate(context)
  const warn = (line: string) => stderr.write(`${gate.line(line, maxLineLength)}\n`)
  const print = (line: string) => void (quiet || warn(line))
  // What a user must not miss is printed even with --quiet: a recording that is not there.
  const opened = await openRecordings(context, settings, gate, record === undefined ? print : warn)
  const { startSandbox } = await import('../sandbox/start-sandbox.ts')
  const sandbox = await startSandbox({
    port,
    seed,
    latency,
    faults,
    folder: sandboxFolder(context),
    families: families.value,
    clock,
    platform: context.platform,
    recordings: opened?.options,
    onRequest: print,
  })
  try {
    const { hostname, port: upstreamPort } = opened?.upstream ?? {}
    if (hostname !== undefined && isLoopback(hostname) && upstreamPort === new URL(sandbox.url).port) {
      throw new UsageError('--upstream is the address of this sandbox itself.')
    }
    stdout.write(`${sandbox.url}\n`)
    await stdout.drain()
    const key = opened?.needsKey ? {} : { MODELGATE_API_KEY: 'sandbox-key' }
    const variables = { MODELGATE_BASE_URL: sandbox.url, ...key }
    print(`Use it in another shell: ${settingVariables(context.platform, variables)}`)
    print(`${opened?.about ?? 'Any key except "invalid" is accepted.'} Ctrl-C stops the sandbox.`)
    if (!signal.aborted) await once(signal, 'abort')
    const failure = sumUp(sandbox, strict === true, print)
    // The signal is how a server ends: what was wrong outranks it.
    if (failure !== undefined && signal.reason instanceof Interrupted) signal.reason.isExpected = true
    throw failure ?? signal.reason
  } finally {
    await sandbox.close()
  }
}

const maxBytes = 1024 * 1024

/** A list of rules, or an object with the list under `faults`. */
export async function readFaults(context: Context, path: string): Promise<FaultRule[]> {
  const bytes = await readInputFile(context, path, { maxBytes })
  if (bytes instanceof ModelgateError) throw bytes
  const source = shownPath(path)
  const { text, problem } = decodeText(bytes)
  if (text === undefined) throw new UsageError(`--faults: ${source} ${problem}.`)
  const value = await parseYaml(path, text)
  const { parseFaultRules } = await import('../sandbox/faults/fault-rule.ts')
  const isWrapped = typeof value === 'object' && value !== null && 'faults' in value
  return parseFaultRules(isWrapped ? value.faults : value, source)
}

/** They mean something only where a gateway is recorded, and only where recordings are played. */
const flagsOf: Readonly<Record<'record' | 'replay', readonly (keyof SandboxSettings)[]>> = {
  record: ['upstream', 'apiKeyFile', 'profile', 'caFile', 'header', 'allowHttp', 'connectTimeout'],
  replay: ['pace', 'strict'],
}

function checkRecording(flags: SandboxSettings): void {
  const { record, replay, pace, latency } = flags
  const withoutUse = (mode: keyof typeof flagsOf) =>
    flagsOf[mode]
      .filter((name) => flags[mode] === undefined && flags[name] !== undefined)
      .map((name) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
      .map((flag) => `--${flag} only means something with --${mode}.`)
  const problems = [
    record !== undefined && replay !== undefined && '--record and --replay cannot be used together.',
    (record === '' || replay === '') && 'The folder of recordings must have a name.',
    ...withoutUse('record'),
    ...withoutUse('replay'),
    pace === 'real' &&
      latency !== undefined &&
      '--latency and --pace real cannot be used together: the recorded times are the latency.',
  ].filter((problem) => problem !== false)
  if (problems.length > 0) throw new UsageError(problems)
}

/**
 * @returns undefined without `--record` and `--replay`
 * @param gate cleans what is printed; the secrets are added to it
 * @param report takes a line about a call that could not be recorded or answered
 */
async function openRecordings(
  context: Context,
  settings: SandboxSettings,
  gate: Gate,
  report: (line: string) => void,
) {
  const { record, replay, pace = 'fast', upstream: address } = settings
  if (replay !== undefined) {
    return {
      options: { replay: { folder: resolve(context.cwd, replay), pace, report } },
      about: `Answers come from the recordings in ${shownPath(replay)} and from nothing else. Any key is accepted.`,
    }
  }
  if (record === undefined) return undefined
  // None of this is needed for the sandbox's own answers.
  const { networkOptions, ownHeaders, readSettings } = await import('./shared/gateway/open-gateway.ts')
  const { createUpstream } = await import('../gateway/upstream.ts')
  const configuration = await readSettings(context, settings)
  const { allowHttp, connectTimeout, baseUrl: configured } = configuration
  const baseUrl =
    address === undefined ? configured.value : normaliseBaseUrl(address, '--upstream', allowHttp.value)
  if (baseUrl === undefined) {
    throw new UsageError('--record needs the gateway to record.', {
      hint: 'Name it with --upstream URL, or set MODELGATE_BASE_URL.',
    })
  }
  const hasKey = (await configuration.keyLocation()) !== undefined
  const key = hasKey ? (await configuration.apiKey()).value : undefined
  const secrets = [context.env['MODELGATE_API_KEY'] ?? '', key ?? ''].filter((secret) => secret !== '')
  const hide = (secret: string) => void secrets.push(secret)
  const { headers } = await ownHeaders(context, {}, configuration, { hide })
  for (const secret of secrets) gate.hide(secret)
  const upstream = createUpstream({
    baseUrl,
    key,
    headers,
    clock: context.clock,
    connectMs: connectTimeout.value ? connectTimeout.value * 1000 : undefined,
    ...(await networkOptions(context, configuration)),
  })
  const whose = hasKey ? 'the configured key, whatever callers send' : 'the key that each caller sends'
  const folder = resolve(context.cwd, record)
  return {
    upstream: baseUrl,
    options: { record: { folder, files: context, upstream, secrets, report } },
    about: `Calls go to ${baseUrl.href} with ${whose}, and cost what they cost. Recordings: ${shownPath(record)}.`,
    /** Whether a caller's own key matters. */
    needsKey: !hasKey,
  }
}

const maxNames = 20

/** Prints what came of calls and recordings. @returns the failure that the process ends with, if any */
function sumUp(sandbox: Sandbox, isStrict: boolean, print: (line: string) => void) {
  const stats = sandbox.recordings()
  if (stats === undefined) return undefined
  const failed = (message: string, hint?: string) =>
    new ModelgateError('partial', 'not_recorded', message, { billed: 'no', hint })
  if (stats.mode === 'record') {
    const { recorded, refused, abandoned } = stats
    const left = abandoned === 0 ? '' : ` ${counted(abandoned, 'call')} ended by the caller, not recorded.`
    print(`Recorded ${counted(recorded, 'call')}.${left}`)
    const hint = 'The lines above say why. The callers received their replies.'
    return refused === 0 ? undefined : failed(`${counted(refused, 'call')} could not be recorded.`, hint)
  }
  const { recordings, used, unused, missed, damaged } = stats
  const names = unused.slice(0, maxNames).join(', ') + (unused.length > maxNames ? ', …' : '')
  const problems = [
    ...(missed > 0 ? [`${counted(missed, 'request')} had no recording.`] : []),
    ...(used < recordings ? [`${counted(recordings - used, 'recording')} not used: ${names}.`] : []),
    ...(damaged.length > 0 ? [`Damaged: ${damaged.join(' ')}`] : []),
  ]
  const line = `Answered from ${used} of ${counted(recordings, 'recording')}.`
  const isFailure = isStrict && problems.length > 0
  print(isFailure ? line : [line, ...problems].join(' '))
  return isFailure ? failed(problems.join(' ')) : undefined
}
