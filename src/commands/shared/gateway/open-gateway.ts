import type { Context } from '../../../context.ts'
import { defaultSeconds } from '../../../limits.ts'
import { sandboxFolder, stateFolder } from '../../../context/folders.ts'
import { resolveSettings, type Settings } from '../../../config/settings.ts'
import { CallBook } from '../../../files/calls/call-book.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { Spending } from '../../../operations/spending.ts'
import { createGate, type Gate } from '../../../output/gate.ts'
import type { Output } from '../../../output/output.ts'
import { claimStandardInput, isStandardInputClaimed } from '../input/standard-input.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { configuredDestination, networkOptions, ownHeaders, readCertificates } from './configured-gateway.ts'

export type OpenGateway = Awaited<ReturnType<typeof openGateway>>

/** What a command was given, and what it works with. */
export interface CommandCall<Options extends CommonOptions = CommonOptions> {
  readonly context: Context
  readonly options: Options
  readonly settings: Settings
  /** Redacts all output except results; the key is added to it. */
  readonly gate: Gate
}

export async function startCall<Options extends CommonOptions>(
  context: Context,
  options: Options,
): Promise<CommandCall<Options>> {
  return { context, options, settings: await readSettings(context, options), gate: createGate(context) }
}

/** The sandbox accepts any key; this one is recognizable wherever it appears. */
export const sandboxKey = 'sandbox-key'

export async function readSettings(context: Context, options: CommonOptions): Promise<Settings> {
  const settings = await resolveSettings(context, options)
  // A key on standard input must never become part of a prompt.
  const { apiKeyFile, caFile } = settings
  for (const { value, source } of [apiKeyFile, caFile]) {
    const isInput = value !== undefined && /^\/(?:dev\/stdin|(?:dev|proc\/self)\/fd\/0)$/.test(value)
    if (isInput && !isStandardInputClaimed(context)) claimStandardInput(context, source)
  }
  return settings
}

/** @param currentOutput where retries are reported, once there is one */
export async function openGateway(
  { context, options, settings, gate }: CommandCall,
  streamed = false,
  currentOutput: () => Pick<Output, 'event'> | undefined = () => undefined,
) {
  const milliseconds = (seconds: number | undefined) => (seconds ? seconds * 1000 : undefined)
  const { value: caFile } = settings.caFile
  // A file that cannot be used is reported here as well.
  if (options.sandbox && caFile !== undefined) await readCertificates(context, caFile)
  const network = options.sandbox ? {} : await networkOptions(context, settings)
  const headers = options.sandbox ? {} : await ownHeaders(context, options, settings, gate)
  const { MODELGATE_MAX_CREATES, MODELGATE_COUNT_SINCE } = context.env
  const limits =
    options.maxCreates || options.maxCost || MODELGATE_MAX_CREATES || MODELGATE_COUNT_SINCE
      ? await (await import('../options/read-limits.ts')).readLimits(context, options)
      : undefined
  // Last: once the sandbox runs, nothing may fail before it can be closed.
  const { baseUrl, key, ...running }: Destination = options.sandbox
    ? await sandboxDestination(context, options, settings)
    : await configuredDestination(options, settings)
  if (!isDryRun(options)) gate.hide(key)
  const book = new CallBook(stateFolder(context), context.clock, (json) => gate.document(json))
  const counted = { created: 0 }
  const newSpending = () =>
    new Spending({
      book,
      prices: settings.prices.value,
      isSandbox: options.sandbox === true,
      limits,
      own: counted,
      warn: (message) => currentOutput()?.event({ type: 'warning-add', message }),
    })
  const spending = newSpending()
  let hasSent = false
  const gateway: Gateway = {
    baseUrl,
    betaUrl: options.sandbox ? undefined : settings.baseUrls.value?.v1beta,
    key,
    clock: context.clock,
    signal: context.signal,
    policy: {
      mode: settings.retry.value,
      maxRetries: settings.maxRetries.value,
      idempotencyHonoured: settings.idempotencyHonoured.value,
    },
    limits: {
      connect: milliseconds(settings.connectTimeout.value),
      firstByte: milliseconds(
        settings.firstByteTimeout.value ?? defaultSeconds.firstByte[streamed ? 'streamed' : 'whole'],
      ),
      idle: milliseconds(settings.idleTimeout.value),
      progress: milliseconds(settings.progressTimeout.value),
      total: milliseconds(settings.timeout.value),
    },
    admit: (creation) => spending.admit(creation),
    onSend: () => void (hasSent = true),
    onRetry: (retry) => currentOutput()?.event({ type: 'retry-wait', ...retry }),
    ...(options.debug ? { trace: createTraceSink(context, gate) } : {}),
    ...network,
    ...headers,
  }
  return {
    gateway,
    book,
    spending,
    /** For each of several tasks, within the same limits. */
    newSpending,
    /** Whether a request that may cost money has been sent. */
    hasSent: () => hasSent,
    close: async () => running.close?.(),
  }
}

/** `--debug` shows an error body up to 4 KiB. */
export const lineLimit = 5_000

/** A trace quotes the gateway, which may echo the key or send control characters. */
export function createTraceSink(context: Context, gate: Gate): (line: string) => void {
  return (line) => context.stderr.write(`${gate.line(line, lineLimit)}\n`)
}

interface Destination {
  readonly baseUrl: URL
  readonly key: string
  close?(): Promise<void>
}

/** Its jobs and responses outlive it. */
export async function startOwnSandbox(context: Context, { families }: Settings) {
  const { startSandbox } = await import('../../../sandbox/start-sandbox.ts')
  return await startSandbox({
    clock: context.clock,
    platform: context.platform,
    latency: 'natural',
    folder: sandboxFolder(context),
    keepsAllResponses: true,
    families: families.value,
  })
}

/** A dry run names one that may be started, as the documents have it. */
async function sandboxDestination(context: Context, options: CommonOptions, settings: Settings) {
  if (isDryRun(options)) {
    if (options.curl && !options.quiet) {
      context.stderr.write('modelgate: Start the sandbox first: modelgate sandbox --port 8080\n')
    }
    return { baseUrl: new URL('http://127.0.0.1:8080'), key: sandboxKey }
  }
  const sandbox = await startOwnSandbox(context, settings)
  return { baseUrl: new URL(sandbox.url), key: sandboxKey, close: () => sandbox.close() }
}
