import { Option, type Command } from 'commander'
import { resolveSettings } from '../config/settings.ts'
import { sandboxFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import type { LatencyProfile } from '../sandbox/start-sandbox.ts'
import type { Gate } from '../output/gate.ts'
import { addShared, suggestWords } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import {
  checkStart,
  openRecordings,
  parseRecording,
  summary,
  type RecordingFlags,
  type RecordingSettings,
} from './shared/gateway/sandbox-recordings.ts'
import { createProblemList } from '../problems.ts'
import { badPorts } from '../config/base-url.ts'
import { Interrupted, UsageError, ModelgateError } from '../errors.ts'
import { parseYaml } from '../config/parse-config.ts'
import { decodeText, invalidTextClause, readInputFile } from '../files/input-file.ts'
import { shownPath } from '../files/file-error.ts'
import type { FaultRule } from '../sandbox/faults/fault-rule.ts'
import { settingVariables } from '../platform.ts'

interface SandboxFlags extends RecordingFlags {
  port?: string
  faults?: string
  seed?: string
}

export interface SandboxSettings {
  readonly port: number
  readonly seed: number
  readonly latency: LatencyProfile
  /** YAML or JSON file with fault rules. */
  readonly faults: string | undefined
  /** No hint and no request log on standard error. */
  readonly isQuiet: boolean
  /** Undefined for the sandbox's own answers. */
  readonly recording?: RecordingSettings | undefined
}

/** Characters of a printed line. */
const maxLineLength = 2000

/** Shared options, most of them for the gateway that is recorded. */
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

/** `modelgate sandbox`: the local gateway as a server, until a signal ends it. */
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
    .option('--port <number>', 'port on 127.0.0.1 (any free one)')
    .option('--faults <file>', 'fault rules: a YAML or JSON file')
    .option('--latency <profile>', 'none, natural, or milliseconds between events (natural)')
    .option('--seed <number>', 'seed for repeatable answers, ids and faults (1)')
    .option('--record <folder>', 'forward calls to a gateway, and record them')
    .option('--upstream <url>', 'the gateway to record (the configured one)')
    .option('--replay <folder>', 'answer only from recordings')
    .addOption(
      suggestWords(new Option('--pace <pace>', 'fast, or real: as recorded (fast)'), ['fast', 'real']),
    )
    .addHelpText('after', faultFile)
    .action(async (_: unknown, self: Command) => {
      const flags: SandboxFlags = self.optsWithGlobals()
      const problems = createProblemList()
      const port = await problems.check(() => parsePort(flags.port))
      const seed = await problems.check(() => parseSeed(flags.seed))
      const usual = flags.record === undefined && flags.replay === undefined ? 'natural' : 'none'
      const latency = await problems.check(() => parseLatency(flags.latency ?? usual))
      const recording = parseRecording(flags, problems)
      problems.throwIfAny()
      await run(context, {
        port: port ?? 0,
        seed: seed ?? 1,
        latency: latency ?? 'natural',
        faults: flags.faults,
        isQuiet: flags.quiet === true,
        ...(recording !== undefined && { recording }),
      })
    })
}

/**
 * Serves until the context's signal is aborted. Standard output gets the base URL, standard error the requests.
 * @throws UsageError, FileError for settings that cannot be used; ModelgateError (exit 12) in the end for calls that
 *   could not be recorded, and with `--strict` for recordings that do not match the requests; else always the reason of
 *   the signal
 */
export async function runSandbox(context: Context, settings: SandboxSettings): Promise<never> {
  const { stdout, stderr, signal, clock } = context
  const { recording, port, seed, latency, isQuiet } = settings
  const faults = settings.faults === undefined ? [] : await readFaults(context, settings.faults)
  const { families } = await resolveSettings(context, { sandbox: true })
  let gate: Gate | undefined
  const warn = (line: string) => stderr.write(`${gate?.line(line, maxLineLength) ?? line}\n`)
  const print = (line: string) => void (isQuiet || warn(line))
  // What a user must not miss is printed even with --quiet: a recording that is not there.
  const opened = recording && (await openRecordings(context, recording, 'record' in recording ? warn : print))
  gate = opened?.gate
  const { startSandbox } = await import('../sandbox/start-sandbox.ts')
  const folder = sandboxFolder(context)
  const recordings = opened?.options
  const sandbox = await startSandbox({
    port,
    seed,
    latency,
    faults,
    folder,
    families: families.value,
    clock,
    platform: context.platform,
    recordings,
    onRequest: print,
  })
  try {
    if (opened !== undefined) checkStart(opened, sandbox)
    stdout.write(`${sandbox.url}\n`)
    await stdout.drain()
    const key = opened?.needsKey ? {} : { MODELGATE_API_KEY: 'sandbox-key' }
    const variables = { MODELGATE_BASE_URL: sandbox.url, ...key }
    print(`Use it in another shell: ${settingVariables(context.platform, variables)}`)
    print(`${opened?.about ?? 'Any key except "invalid" is accepted.'} Ctrl-C stops the sandbox.`)
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    const { line, failure } = (recording && summary(recording, sandbox)) ?? {}
    if (line !== undefined) print(line)
    // The signal is how a server ends: what was wrong outranks it.
    if (failure !== undefined && signal.reason instanceof Interrupted) signal.reason.isExpected = true
    throw failure ?? signal.reason
  } finally {
    await sandbox.close()
  }
}

/** @throws UsageError for anything but a port that HTTP clients connect to, or 0 for any */
export function parsePort(value = '0'): number {
  const port = wholeNumber('--port', value, 65_535)
  if (port !== 0 && badPorts.has(port)) {
    throw new UsageError(
      `--port ${port} belongs to another protocol: HTTP clients refuse to connect to it.`,
      {
        hint: 'Choose a port above 1024, such as 8080, or leave --port out.',
      },
    )
  }
  return port
}

/** @throws UsageError */
export function parseSeed(value = '1'): number {
  return wholeNumber('--seed', value, Number.MAX_SAFE_INTEGER)
}

/** @throws UsageError for anything but `none`, `natural` and milliseconds */
export function parseLatency(value = 'natural'): LatencyProfile {
  if (value === 'none' || value === 'natural') return value
  if (/^\d{1,6}$/.test(value)) return Number(value)
  throw new UsageError(`--latency must be none, natural or a number of milliseconds, not "${value}".`)
}

function wholeNumber(flag: string, value: string, max: number): number {
  const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN
  if (number <= max) return number
  throw new UsageError(`${flag} must be a whole number from 0 to ${max}, not "${value}".`)
}

const maxBytes = 1024 * 1024

/**
 * Reads fault rules from a YAML or JSON file (JSON is YAML too): a list, or an object with the list under `faults`.
 * @throws FileError when the file cannot be read, UsageError with every problem of what it holds
 */
export async function readFaults(context: Context, path: string): Promise<FaultRule[]> {
  const bytes = await readInputFile(context, path, { maxBytes })
  if (bytes instanceof ModelgateError) throw bytes
  const source = shownPath(path)
  const { text, invalid } = decodeText(bytes)
  if (text === undefined) throw new UsageError(`--faults: ${source} ${invalidTextClause(invalid)}.`)
  const value = await parseYaml(path, text)
  const { parseFaultRules } = await import('../sandbox/faults/fault-rule.ts')
  const isWrapped = typeof value === 'object' && value !== null && 'faults' in value
  return parseFaultRules(isWrapped ? value.faults : value, source)
}
