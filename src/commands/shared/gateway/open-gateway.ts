import type { Context } from '../../../context.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { defaultSeconds } from '../../../limits.ts'
import { sandboxFolder, stateFolder } from '../../../config/paths.ts'
import { resolveSettings, type Settings } from '../../../config/settings.ts'
import { shownPath } from '../../../files/file-error.ts'
import { describeInputFile, readInputFile } from '../../../files/input-file.ts'
import { CallBook } from '../../../files/calls/call-book.ts'
import type { ConnectionOptions, Proxies } from '../../../gateway/connection.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { Spending } from '../../../operations/spending.ts'
import { createGate, type Gate } from '../../../output/gate.ts'
import type { Output } from '../../../output/output.ts'
import { createProblemList, type ProblemList } from '../../../problems.ts'
import { claimStandardInput, isStandardInputClaimed } from '../input/standard-input.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'

/** The gateway for a command's requests, and what must be closed afterwards. */
export type OpenGateway = Awaited<ReturnType<typeof openGateway>>

/** The sandbox accepts any key; this one is recognizable wherever it appears. */
export const sandboxKey = 'sandbox-key'

/** All settings of a call, from flags, environment, files and defaults. */
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

/**
 * Connects to the gateway, or starts the sandbox (`--sandbox`).
 * @param streamed whether a streamed reply is expected
 * @param currentOutput where retries are reported, once there is one
 * @param gate the command's own, if it was created earlier; the key is added to it
 * @throws UsageError without a base URL; ModelgateError (exit 3) without a key
 */
export async function openGateway(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  streamed: boolean,
  currentOutput: () => Pick<Output, 'event'> | undefined,
  gate: Gate = createGate(context),
) {
  const milliseconds = (seconds: number | undefined) => (seconds ? seconds * 1000 : undefined)
  const network = await networkOptions(context, settings, options.sandbox === true)
  const { env } = context
  const isLimited = [
    options.maxCreates,
    options.maxCost,
    env['MODELGATE_MAX_CREATES'],
    env['MODELGATE_COUNT_SINCE'],
  ]
  const limits = isLimited.some(Boolean)
    ? await (await import('../options/read-limits.ts')).readLimits(context, options)
    : undefined
  const { headers, downloadHeaders } = await ownHeaders(context, options, settings, gate)
  // Last: once the sandbox runs, nothing may fail before it can be closed.
  const destination = options.sandbox
    ? await sandboxDestination(context, options, settings)
    : await configuredDestination(options, settings)
  if (!isDryRun(options)) gate.hide(destination.key)
  const book = new CallBook(stateFolder(context), context.clock, (json) => gate.document(json))
  const own = { created: 0 }
  const newSpending = () =>
    new Spending({
      book,
      prices: settings.prices.value,
      isSandbox: options.sandbox === true,
      limits,
      own,
      warn: (message) => currentOutput()?.event({ type: 'warning-add', message }),
    })
  const spending = newSpending()
  let hasSent = false
  const gateway: Gateway = {
    baseUrl: destination.baseUrl,
    betaUrl: options.sandbox ? undefined : settings.baseUrls.value?.v1beta,
    key: destination.key,
    headers,
    downloadHeaders,
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
        settings.firstByteTimeout.value ??
          (streamed ? defaultSeconds.firstByte.streamed : defaultSeconds.firstByte.whole),
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
  }
  return {
    gateway,
    /** Redacts all output except results; it knows the key. */
    gate,
    /** The records of all calls. */
    book,
    /** What the gateway's requests create, and what they cost. */
    spending,
    /** The same for each of several tasks, within the same limits. */
    newSpending,
    /** Whether a request that may cost money has been sent. */
    hasSent: () => hasSent,
    close: destination.close,
  }
}

/**
 * The headers of the user, with the values of files and variables, which the gate hides where they are long enough. The
 * sandbox gets none, and a dry run those that are written.
 * @throws ConfigError, ModelgateError for a value that cannot be had
 */
export async function ownHeaders(
  context: Context,
  options: Pick<CommonOptions, 'sandbox' | 'dryRun' | 'curl'>,
  { headers: { value: headers }, downloadHeaders: { value: downloadHeaders } }: Settings,
  gate: Pick<Gate, 'hide'>,
): Promise<Required<Pick<Gateway, 'headers' | 'downloadHeaders'>>> {
  const isEmpty = Object.keys({ ...headers, ...downloadHeaders }).length === 0
  if (options.sandbox || isEmpty) return { headers: {}, downloadHeaders: {} }
  if (isDryRun(options)) return { headers, downloadHeaders }
  const { readHeaders } = await import('../../../config/headers.ts')
  const read = async (sources: typeof headers) => {
    const found = await readHeaders(context, sources)
    for (const secret of found.secrets) gate.hide(secret)
    return found.headers
  }
  const downloads = Object.entries(downloadHeaders).map(
    async ([origin, own]) => [origin, await read(own)] as const,
  )
  return { headers: await read(headers), downloadHeaders: Object.fromEntries(await Promise.all(downloads)) }
}

/**
 * Proxies and certificates.
 * @param isLocal whether only this machine is reached
 * @throws UsageError, ModelgateError `config_invalid`
 */
export async function networkOptions(
  context: Context,
  { caFile }: Settings,
  isLocal = false,
): Promise<ConnectionOptions> {
  const proxies = isLocal ? undefined : proxiesFrom(context.env)
  const ca = caFile.value === undefined ? undefined : await readCertificates(context, caFile.value)
  if (!isLocal) await readExtraCertificates(context)
  return { ...(proxies === undefined ? {} : { proxies }), ...(ca === undefined ? {} : { ca }) }
}

/** Characters of one line on standard error: `--debug` shows an error body up to 4 KiB. */
export const lineLimit = 5_000

/** A trace quotes the gateway, which may echo the key or send control characters. */
export function createTraceSink(context: Context, gate: Gate): (line: string) => void {
  return (line) => context.stderr.write(`${gate.line(line, lineLimit)}\n`)
}

interface Destination {
  readonly baseUrl: URL
  readonly key: string
  close(): Promise<void>
}

async function sandboxDestination(
  context: Context,
  options: CommonOptions,
  settings: Settings,
): Promise<Destination> {
  if (isDryRun(options)) return sandboxToName(context, options)
  const { startSandbox } = await import('../../../sandbox/start-sandbox.ts')
  const sandbox = await startSandbox({
    clock: context.clock,
    platform: context.platform,
    latency: 'natural',
    folder: sandboxFolder(context),
    keepsAllResponses: true,
    families: settings.families.value,
  })
  return { baseUrl: new URL(sandbox.url), key: sandboxKey, close: () => sandbox.close() }
}

/** For a dry run: where a sandbox may be started, as the documents have it. */
function sandboxToName(context: Context, { curl, quiet }: CommonOptions): Destination {
  if (curl && !quiet) {
    context.stderr.write('modelgate: Start the sandbox first: modelgate sandbox --port 8080\n')
  }
  return { baseUrl: new URL('http://127.0.0.1:8080'), key: sandboxKey, close: async () => {} }
}

async function configuredDestination(options: CommonOptions, settings: Settings): Promise<Destination> {
  const problems = createProblemList()
  if (await isNotSetUp(settings)) throw notSetUp()
  const baseUrl = await problems.check(() => configuredBaseUrl(settings))
  if (baseUrl === undefined) await addMissingKey(options, settings, problems)
  problems.throwIfAny()
  const key = await keyFor(options, settings)
  return { baseUrl: baseUrl!, key, close: async () => {} }
}

const hasAuthorization = ({ headers }: Pick<Settings, 'headers'>) =>
  Object.hasOwn(headers.value, 'authorization')

/** The key; empty where a header of the user stands in its place. @throws UsageError where there are both */
async function keyFor(options: CommonOptions, { headers, keyLocation, apiKey }: Settings): Promise<string> {
  if (!hasAuthorization({ headers })) return isDryRun(options) ? 'key' : (await apiKey()).value
  const location = await keyLocation()
  if (location === undefined) return ''
  throw new UsageError(
    `The header authorization (${headers.source}) and a key (${location.source}) cannot be used together.`,
    {
      phase: 'config',
      hint: 'Leave out one of them.',
    },
  )
}

/** Whether there is neither a gateway nor a key: somebody's first call on a machine. */
export async function isNotSetUp({ baseUrl, keyLocation }: Settings): Promise<boolean> {
  if (baseUrl.value !== undefined) return false
  // A file of keys that cannot be used is a problem of its own.
  return (await keyLocation().catch(() => 'somewhere')) === undefined
}

/**
 * The three ways on for someone who has set up nothing, in place of everything that is missing.
 * @param model the variable of the model, for a command that needs one
 */
export function notSetUp(model?: string): UsageError {
  const variables = ['MODELGATE_BASE_URL', 'MODELGATE_API_KEY', ...(model === undefined ? [] : [model])]
  // Each line fits a terminal of 80 columns.
  return new UsageError(`No gateway is set up yet. Set one up with: ${initCommand.join(' ')}`, {
    code: 'base_url_missing',
    phase: 'config',
    hint: `${trySandbox}
Or set ${variables.join(', ')}.`,
    next: initCommand,
  })
}

/** Asks for all that is missing. */
const initCommand = ['modelgate', 'init']

const trySandbox = 'To try it without a gateway, key or model, add --sandbox.'

/** Adds the missing key, for a call that lacks something else as well; nothing when there is a key. */
export async function addMissingKey(
  options: CommonOptions,
  settings: Settings,
  problems: ProblemList,
): Promise<void> {
  if (options.sandbox || isDryRun(options) || hasAuthorization(settings)) return
  try {
    await settings.apiKey()
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.code !== 'key_missing') return
    const message = `${error.message.replace(/\.$/, '')}: set MODELGATE_API_KEY, or pass --api-key-file FILE.`
    problems.add(error.amend({ message, hint: trySandbox, next: initCommand }))
  }
}

/** The address of the gateway. @throws UsageError without one */
export function configuredBaseUrl({ baseUrl }: Settings): URL {
  if (baseUrl.value !== undefined) return baseUrl.value
  throw new UsageError('No gateway is configured: set MODELGATE_BASE_URL, or pass --base-url.', {
    code: 'base_url_missing',
    phase: 'config',
    hint: trySandbox,
    next: initCommand,
  })
}

/** Reads the proxy variables of an environment; undefined when none is set. Lower case wins, as in curl. */
export function proxiesFrom(env: Context['env']): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const http = withScheme(read('HTTP_PROXY') ?? read('ALL_PROXY'))
  const https = withScheme(read('HTTPS_PROXY') ?? read('ALL_PROXY'))
  if (http === undefined && https === undefined) return undefined
  return { http, https: https ?? http, except: read('NO_PROXY') ?? '' }
}

function withScheme(proxy: string | undefined): string | undefined {
  return proxy === undefined || proxy.includes('://') ? proxy : `http://${proxy}`
}

/** Larger than any real bundle of certificate authorities. */
const maxCaBytes = 4_194_304

async function readCertificates(context: Context, path: string): Promise<string> {
  const bytes = await readInputFile(context, path, { maxBytes: maxCaBytes })
  const facts = { phase: 'config', hint: 'Check --ca-file.' } as const
  if (bytes instanceof ModelgateError) {
    const message = `The certificate authority file: ${bytes.message}`
    throw bytes.amend({ code: 'config_invalid', message, ...facts })
  }
  const text = bytes.toString('utf8')
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  const message = `The certificate authority file: ${shownPath(path)} holds no certificate in PEM form.`
  throw new UsageError(message, { ...facts, code: 'config_invalid' })
}

/**
 * Node reads the file of NODE_EXTRA_CA_CERTS itself at the first TLS connection: synchronously, so a pipe could hang
 * it and block signals. Therefore pipes are read here, and devices are refused.
 */
async function readExtraCertificates(context: Context): Promise<void> {
  const path = context.env['NODE_EXTRA_CA_CERTS']
  if (!path) return
  const file = await describeInputFile(context, path, { maxBytes: maxCaBytes })
  if (file instanceof ModelgateError) {
    // Node itself warns about a file that it cannot read, and continues without it.
    if (!['not_a_file', 'file_too_large', 'input_silent'].includes(file.code)) return
    throw file.amend({
      code: 'config_invalid',
      message: `NODE_EXTRA_CA_CERTS: ${file.message}`,
      phase: 'config',
    })
  }
  if (file.content === undefined) return
  const { rootCertificates, setDefaultCACertificates } = await import('node:tls')
  setDefaultCACertificates([...rootCertificates, file.content.toString('utf8')])
}
