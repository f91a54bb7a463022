import type { Context } from '../../../context.ts'
import { ConfigError, ModelgateError, UsageError } from '../../../errors.ts'
import { defaultSeconds } from '../../../limits.ts'
import { sandboxFolder, stateFolder } from '../../../context/folders.ts'
import { fileProblem } from '../../../config/config-file.ts'
import { resolveSettings, type Settings } from '../../../config/settings.ts'
import { shownPath } from '../../../files/file-error.ts'
import { describeInputFile, readInputFile } from '../../../files/input-file.ts'
import { CallBook } from '../../../files/calls/call-book.ts'
import type { ConnectionOptions, Proxies } from '../../../gateway/exchange.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { createSpending } from '../../../operations/spending.ts'
import { createGate, type Gate } from '../../../output/gate.ts'
import type { Output } from '../../../output/output.ts'
import { createProblemList, type ProblemList } from '../../../problems.ts'
import { claimStandardInput, isStandardInputClaimed } from '../input/standard-input.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'

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

/** The address that a dry run shows, as in the documentation. */
const sandboxInDocuments = 'http://127.0.0.1:8080'

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

/** @param output where retries are reported; without it they are not, until `reportTo` is called */
export async function openGateway(
  { context, options, settings, gate }: CommandCall,
  streamed = false,
  output?: Pick<Output, 'event'>,
) {
  const milliseconds = (seconds: number | undefined) => (seconds ? seconds * 1000 : undefined)
  // A file that cannot be used is reported here as well.
  const { value: caFile } = settings.caFile
  if (options.sandbox && caFile !== undefined) await readCertificates(context, caFile)
  const network = options.sandbox ? {} : await networkOptions(context, settings)
  const headers = options.sandbox ? {} : await ownHeaders(context, options, settings, gate)
  const { MODELGATE_MAX_CREATES, MODELGATE_COUNT_SINCE } = context.env
  const limits =
    options.maxCreates || options.maxCost || MODELGATE_MAX_CREATES || MODELGATE_COUNT_SINCE
      ? await (await import('../options/read-limits.ts')).readLimits(context, options)
      : undefined
  // Last: once the sandbox runs, nothing may fail before it can be closed.
  const sandbox = options.sandbox && !isDryRun(options) ? await startOwnSandbox(context, settings) : undefined
  const { baseUrl, key } = options.sandbox
    ? { baseUrl: new URL(sandbox?.url ?? sandboxInDocuments), key: sandboxKey }
    : await configuredDestination(options, settings)
  if (!isDryRun(options)) gate.hide(key)
  const book = new CallBook(stateFolder(context), context.clock, (json) => gate.document(json))
  const counted = { created: 0 }
  const newSpending = () =>
    createSpending({
      book,
      prices: settings.prices.value,
      isSandbox: options.sandbox === true,
      limits,
      own: counted,
      warn: (message) => output?.event({ type: 'warning-add', message }),
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
    onRetry: (retry) => output?.event({ type: 'retry-wait', ...retry }),
    ...(options.debug ? { trace: createTraceSink(context, gate) } : {}),
    ...network,
    ...headers,
  }
  return {
    gateway,
    spending,
    /** For each of several tasks, within the same limits. */
    newSpending,
    /** Whether a request that may cost money has been sent. */
    hasSent: () => hasSent,
    reportTo: (next: Pick<Output, 'event'>) => void (output = next),
    close: async () => sandbox?.close(),
  }
}

/** `--debug` shows an error body up to 4 KiB. */
export const lineLimit = 5_000

/** A trace quotes the gateway, which may echo the key or send control characters. */
export function createTraceSink(context: Context, gate: Gate): (line: string) => void {
  return (line) => context.stderr.write(`${gate.line(line, lineLimit)}\n`)
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

/** @throws UsageError, ModelgateError (exit 3) with all that is missing */
async function configuredDestination(options: CommonOptions, settings: Settings) {
  const problems = createProblemList()
  const baseUrl = await problems.check(() => configuredBaseUrl(settings))
  if (baseUrl === undefined) await addMissingKey(options, settings, problems)
  problems.throwIfAny()
  return { baseUrl: baseUrl!, key: await keyFor(options, settings) }
}

const hasAuthorization = ({ headers }: Pick<Settings, 'headers'>) =>
  Object.hasOwn(headers.value, 'authorization')

/** Empty where a header of the user takes its place. */
async function keyFor(options: CommonOptions, { headers, keyLocation, apiKey }: Settings): Promise<string> {
  if (!hasAuthorization({ headers })) return isDryRun(options) ? 'key' : (await apiKey()).value
  const location = await keyLocation()
  if (location === undefined) return ''
  const both = `The header authorization (${headers.source}) and a key (${location.source})`
  throw new UsageError(`${both} cannot be used together.`, {
    phase: 'config',
    hint: 'Leave out one of them.',
  })
}

/** Neither a gateway nor a key: somebody's first call on a machine. Then that is the one problem. */
export async function isNotSetUp({ baseUrl, keyLocation }: Settings): Promise<boolean> {
  if (baseUrl.value !== undefined) return false
  // A file of keys that cannot be used is a problem of its own.
  return (await keyLocation().catch(() => 'somewhere')) === undefined
}

/** For a call that lacks something else as well; nothing when there is a key. */
export async function addMissingKey(
  options: CommonOptions,
  settings: Settings,
  problems: ProblemList,
): Promise<void> {
  if (options.sandbox || isDryRun(options) || hasAuthorization(settings)) return
  if (await isNotSetUp(settings)) return
  try {
    await settings.apiKey()
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.code !== 'key_missing') return
    const message = `${error.message.replace(/\.$/, '')}: set MODELGATE_API_KEY, or pass --api-key-file FILE.`
    problems.add(error.amend({ message, hint: trySandbox, next: initCommand }))
  }
}

const initCommand = ['modelgate', 'init']

const trySandbox = 'To try it without a gateway, key or model, add --sandbox.'

/** @param model the variable of the model, for a command that needs one @throws UsageError `base_url_missing` */
export async function configuredBaseUrl(settings: Settings, model?: string): Promise<URL> {
  if (settings.baseUrl.value !== undefined) return settings.baseUrl.value
  const facts = { code: 'base_url_missing', phase: 'config', next: initCommand } as const
  if (!(await isNotSetUp(settings))) {
    const message = 'No gateway is configured: set MODELGATE_BASE_URL, or pass --base-url.'
    throw new UsageError(message, { ...facts, hint: trySandbox })
  }
  const variables = ['MODELGATE_BASE_URL', 'MODELGATE_API_KEY', ...(model === undefined ? [] : [model])]
  // Each line fits a terminal of 80 columns.
  throw new UsageError(`No gateway is set up yet. Set one up with: ${initCommand.join(' ')}`, {
    ...facts,
    hint: `${trySandbox}\nOr set ${variables.join(', ')}.`,
  })
}

/** Lower case wins, as in curl. */
export function proxiesFrom(env: Context['env']): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const proxy = (name: string) => {
    const address = read(name) ?? read('ALL_PROXY')
    return address === undefined || address.includes('://') ? address : `http://${address}`
  }
  const [http, https] = [proxy('HTTP_PROXY'), proxy('HTTPS_PROXY')]
  if (http === undefined && https === undefined) return undefined
  return { http, https: https ?? http, except: read('NO_PROXY') ?? '' }
}

/** Larger than any real bundle of certificate authorities. */
const maxCaBytes = 4_194_304

/** @throws UsageError, ModelgateError `config_invalid` */
async function readCertificates(context: Context, path: string): Promise<string> {
  const bytes = await readInputFile(context, path, { maxBytes: maxCaBytes })
  const [what, hint] = ['The certificate authority file', 'Check --ca-file.']
  if (bytes instanceof ModelgateError) throw fileProblem(bytes, what).amend({ hint })
  const text = bytes.toString('utf8')
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new ConfigError(`${what}: ${shownPath(path)} holds no certificate in PEM form.`, { hint })
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
    throw fileProblem(file, 'NODE_EXTRA_CA_CERTS')
  }
  if (file.content === undefined) return
  const { rootCertificates, setDefaultCACertificates } = await import('node:tls')
  setDefaultCACertificates([...rootCertificates, file.content.toString('utf8')])
}

/** With the values of files and variables, which the gate hides; in a dry run as they are written. */
export async function ownHeaders(
  context: Context,
  options: Pick<CommonOptions, 'dryRun' | 'curl'>,
  settings: Settings,
  gate: Pick<Gate, 'hide'>,
) {
  const { value: headers } = settings.headers
  const { value: downloadHeaders } = settings.downloadHeaders
  const isEmpty = Object.keys({ ...headers, ...downloadHeaders }).length === 0
  if (isEmpty || isDryRun(options)) return { headers, downloadHeaders }
  const { readHeaders } = await import('../../../config/headers.ts')
  const read = (sources: typeof headers) => readHeaders(context, sources, (secret) => gate.hide(secret))
  const downloads = Object.entries(downloadHeaders).map(
    async ([origin, own]) => [origin, await read(own)] as const,
  )
  return { headers: await read(headers), downloadHeaders: Object.fromEntries(await Promise.all(downloads)) }
}

export async function networkOptions(context: Context, { caFile }: Settings): Promise<ConnectionOptions> {
  const proxies = proxiesFrom(context.env)
  const ca = caFile.value === undefined ? undefined : await readCertificates(context, caFile.value)
  await readExtraCertificates(context)
  return { ...(proxies === undefined ? {} : { proxies }), ...(ca === undefined ? {} : { ca }) }
}
