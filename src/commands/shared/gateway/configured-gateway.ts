import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { shownPath } from '../../../files/file-error.ts'
import { describeInputFile, readInputFile } from '../../../files/input-file.ts'
import type { ConnectionOptions, Proxies } from '../../../gateway/connection.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Gate } from '../../../output/gate.ts'
import { createProblemList, type ProblemList } from '../../../problems.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'

/** @throws UsageError, ModelgateError (exit 3) with all that is missing */
export async function configuredDestination(
  options: CommonOptions,
  settings: Settings,
): Promise<{ readonly baseUrl: URL; readonly key: string }> {
  const problems = createProblemList()
  if (await isNotSetUp(settings)) throw notSetUp()
  const baseUrl = await problems.check(() => configuredBaseUrl(settings))
  if (baseUrl === undefined) await addMissingKey(options, settings, problems)
  problems.throwIfAny()
  return { baseUrl: baseUrl!, key: await keyFor(options, settings) }
}

const hasAuthorization = ({ headers }: Pick<Settings, 'headers'>) =>
  Object.hasOwn(headers.value, 'authorization')

/** Empty where a header of the user stands in its place. */
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

/** Neither a gateway nor a key: somebody's first call on a machine. */
export async function isNotSetUp({ baseUrl, keyLocation }: Settings): Promise<boolean> {
  if (baseUrl.value !== undefined) return false
  // A file of keys that cannot be used is a problem of its own.
  return (await keyLocation().catch(() => 'somewhere')) === undefined
}

/** In place of everything that is missing. @param model the variable of the model, for a command that needs one */
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

const initCommand = ['modelgate', 'init']

const trySandbox = 'To try it without a gateway, key or model, add --sandbox.'

/** For a call that lacks something else as well; nothing when there is a key. */
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

export function configuredBaseUrl({ baseUrl }: Settings): URL {
  if (baseUrl.value !== undefined) return baseUrl.value
  throw new UsageError('No gateway is configured: set MODELGATE_BASE_URL, or pass --base-url.', {
    code: 'base_url_missing',
    phase: 'config',
    hint: trySandbox,
    next: initCommand,
  })
}

/** Lower case wins, as in curl. */
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

/** @throws UsageError, ModelgateError `config_invalid` */
export async function readCertificates(context: Context, path: string): Promise<string> {
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

/** With the values of files and variables, which the gate hides; in a dry run as they are written. */
export async function ownHeaders(
  context: Context,
  options: Pick<CommonOptions, 'dryRun' | 'curl'>,
  { headers: { value: headers }, downloadHeaders: { value: downloadHeaders } }: Settings,
  gate: Pick<Gate, 'hide'>,
): Promise<Required<Pick<Gateway, 'headers' | 'downloadHeaders'>>> {
  const isEmpty = Object.keys({ ...headers, ...downloadHeaders }).length === 0
  if (isEmpty || isDryRun(options)) return { headers, downloadHeaders }
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

export async function networkOptions(context: Context, { caFile }: Settings): Promise<ConnectionOptions> {
  const proxies = proxiesFrom(context.env)
  const ca = caFile.value === undefined ? undefined : await readCertificates(context, caFile.value)
  await readExtraCertificates(context)
  return { ...(proxies === undefined ? {} : { proxies }), ...(ca === undefined ? {} : { ca }) }
}
