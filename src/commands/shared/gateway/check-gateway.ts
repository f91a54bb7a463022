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
export const ownSettings = (context: Context, options: CommonOptions): Promise<Settings> =>
  resolveSettings(context, { ...options, baseUrl: undefined, apiKeyFile: undefined }, true)

/** What became of asking for the models, which costs nothing anywhere; its message is a clause, or that of the error. */
export type GatewayCheck = { readonly message: string } & (
  | { readonly verdict: 'lists'; readonly models: readonly ModelEntry[]; readonly error?: undefined }
  | {
      readonly verdict: 'refuses' | 'lists none' | 'unreachable' | 'in doubt'
      readonly error: ModelgateError
    }
)

type CheckOptions = Partial<Pick<Gateway, 'signal' | 'onReply'>> & { readonly seconds?: number }

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
  const { context, gate, settings } = call
  const { timeout, maxRetries, families } = settings
  const { gateway, hasSent, close } = await openGateway({
    ...call,
    context: { ...context, signal },
    settings: {
      ...settings,
      baseUrl: { ...settings.baseUrl, value: baseUrl },
      ...(baseUrl !== settings.baseUrl.value && { baseUrls: { ...settings.baseUrls, value: undefined } }),
      timeout: { ...timeout, value: timeout.value ?? seconds },
      maxRetries: { ...maxRetries, value: 0 },
      apiKey: async () => ({ value: key, source: 'init' }),
    },
  })
  try {
    const listener = { event() {}, flush: async () => {} }
    const asked = { ...gateway, onReply }
    const own = { context, gateway: asked, listener, redactor: gate, rescueFolder: undefined, hasSent }
    const outcome = await listModels(own, families.value)
    if (outcome.kind === 'ended') {
      const { models } = outcome.document
      return { verdict: 'lists', models, message: `it lists ${counted(models.length, 'model')}` }
    }
    signal.throwIfAborted()
    return failedCheck(outcome.error, key !== '')
  } finally {
    await close()
  }
}

function failedCheck(error: ModelgateError, hasKey: boolean): GatewayCheck {
  const { exit, message, facts } = error
  // 401 or 403: it wants a key, or refuses the one that it got.
  if (exit === 'key')
    return { verdict: 'refuses', error, message: hasKey ? message : 'it answers and requires a key' }
  // No such list. It may still be a gateway.
  if ([404, 405, 501].includes(facts.httpStatus ?? 0))
    return { verdict: 'lists none', error, message: 'it answers, and lists no models' }
  // DNS, connection, TLS, proxy, a time limit; or something answers, but not as a gateway does, or not now.
  const isSilent = exit === 'notSent' || (exit !== 'contract' && facts.httpStatus === undefined)
  return isSilent
    ? { verdict: 'unreachable', error, message }
    : { verdict: 'in doubt', error, message: `it answers, but not as a gateway does: ${message}` }
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
    return { state: 'unknown', message: call.gate.text(check.message) }
  }
  const open = await checkGateway(call, baseUrl)
  return open.verdict === 'lists'
    ? { state: 'unknown', message: `${baseUrl.host} lists its models without a key` }
    : { state: 'accepted', message: `${baseUrl.host} accepts the key` }
}
