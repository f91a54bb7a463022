import { resolveSettings, type Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { CommonOptions } from '../options/common-options.ts'
import type { ModelgateError } from '../../../errors.ts'
import type { KeyVerdict } from '../../../events/checks.ts'
import type { ModelEntry } from '../../../events/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { listModels } from '../../../operations/list-models.ts'
import { counted } from '../../../quantities.ts'
import { openGateway, type CommandCall } from './open-gateway.ts'

/** Without the flags that are answers, and without a project file: what is written is the user's own. */
export async function ownSettings(context: Context, options: CommonOptions): Promise<Settings> {
  const { profile, caFile, header, allowHttp, connectTimeout, timeout, quiet } = options
  const flags = { profile, caFile, header, allowHttp, connectTimeout, timeout, quiet }
  return await resolveSettings(context, flags, true)
}

/** What became of asking for the models, which costs nothing anywhere. */
export type GatewayCheck =
  | { readonly verdict: 'lists'; readonly models: readonly ModelEntry[] }
  | FailedCheck<ReturnType<typeof verdictOn>>
type FailedCheck<Verdict> = Verdict extends string
  ? { readonly verdict: Verdict; readonly error: ModelgateError }
  : never

/**
 * Asks once.
 * @param key empty: the request has no `Authorization`
 * @param seconds unless `--timeout` says otherwise: somebody waits for it
 * @throws the signal's reason; ModelgateError for certificates or a proxy that cannot be used
 */
export async function checkGateway(
  call: CommandCall,
  baseUrl: URL,
  key = '',
  { seconds = 15, signal = call.context.signal, onReply }: CheckOptions = {},
): Promise<GatewayCheck> {
  const { context, gate } = call
  const settings = settingsFor(call.settings, baseUrl, key, seconds)
  const opened = await openGateway({ ...call, context: { ...context, signal }, settings })
  try {
    const listener = { event() {}, flush: async () => {} }
    const gateway = { ...opened.gateway, onReply }
    const { hasSent } = opened
    const own = { context, gateway, listener, redactor: gate, rescueFolder: undefined, hasSent }
    const outcome = await listModels(own, call.settings.families.value)
    if (outcome.kind === 'ended') return { verdict: 'lists', models: outcome.document.models }
    if (signal.aborted) throw signal.reason
    return { verdict: verdictOn(outcome.error), error: outcome.error } as GatewayCheck
  } finally {
    await opened.close()
  }
}

type CheckOptions = Partial<Pick<Gateway, 'signal' | 'onReply'>> & { readonly seconds?: number }

function verdictOn({ exit, facts: { httpStatus } }: ModelgateError) {
  // 401 or 403: it wants a key, or refuses the one that it got.
  if (exit === 'key') return 'refuses'
  // No such list. It may still be a gateway.
  if ([404, 405, 501].includes(httpStatus ?? 0)) return 'lists none'
  // DNS, connection, TLS, proxy, a time limit; or something answers, but not as a gateway does, or not now.
  const isSilent = exit === 'notSent' || (exit !== 'contract' && httpStatus === undefined)
  return isSilent ? 'unreachable' : 'in doubt'
}

function settingsFor(settings: Settings, baseUrl: URL, key: string, seconds: number): Settings {
  const { timeout, maxRetries } = settings
  return {
    ...settings,
    baseUrl: { ...settings.baseUrl, value: baseUrl },
    ...(baseUrl === settings.baseUrl.value ? {} : { baseUrls: { ...settings.baseUrls, value: undefined } }),
    timeout: { ...timeout, value: timeout.value ?? seconds },
    maxRetries: { ...maxRetries, value: 0 },
    apiKey: async () => ({ value: key, source: 'init' }),
  }
}

export function describeCheck(check: GatewayCheck, hasKey: boolean): string {
  switch (check.verdict) {
    case 'lists':
      return `it lists ${counted(check.models.length, 'model')}`
    case 'refuses':
      return hasKey ? check.error.message : 'it answers and requires a key'
    case 'lists none':
      return 'it answers, and lists no models'
    case 'unreachable':
      return check.error.message
    case 'in doubt':
      return `it answers, but not as a gateway does: ${check.error.message}`
  }
}

/** Also asks without a key: a gateway that lists its models to everybody cannot check one. */
export async function checkKeyAt(call: CommandCall, key: string): Promise<KeyVerdict> {
  const baseUrl = call.settings.baseUrl.value
  if (baseUrl === undefined) {
    return { state: 'unknown', message: 'no base URL is set: modelgate config set base_url URL' }
  }
  const check = await checkGateway(call, baseUrl, key)
  if (check.verdict === 'refuses') return { state: 'refused', message: `${baseUrl.host} refuses the key` }
  if (check.verdict !== 'lists') {
    // The gateway may give the key back.
    return { state: 'unknown', message: call.gate.text(describeCheck(check, true)) }
  }
  const open = await checkGateway(call, baseUrl)
  return open.verdict === 'lists'
    ? { state: 'unknown', message: `${baseUrl.host} lists its models without a key` }
    : { state: 'accepted', message: `${baseUrl.host} accepts the key` }
}
