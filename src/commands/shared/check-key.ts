import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import type { KeyVerdict } from '../../events/checks.ts'
import { createGate } from '../../output/gate.ts'
import { checkGateway, describeCheck } from '../init/check-gateway.ts'
import type { CommonOptions } from './common-options.ts'

/**
 * Asks the gateway of the settings for its models with a key, and where it lists them, without one: only a gateway that
 * refuses nobody's list cannot tell. Costs nothing.
 * @throws the signal's reason
 */
export async function checkKeyAt(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  key: string,
): Promise<KeyVerdict> {
  const baseUrl = settings.baseUrl.value
  if (baseUrl === undefined) {
    return { state: 'unknown', message: 'no base URL is set: modelgate config set base_url URL' }
  }
  const gate = createGate(context, [key])
  const parts = { context, options, settings, gate }
  const check = await checkGateway(parts, { baseUrl, key })
  if (check.verdict === 'refuses') return { state: 'refused', message: `${baseUrl.host} refuses the key` }
  if (check.verdict !== 'lists') {
    // The gateway may give the key back, and the caller's own gate need not know it.
    return { state: 'unknown', message: gate.text(describeCheck(check, true)) }
  }
  const open = await checkGateway(parts, { baseUrl })
  return open.verdict === 'lists'
    ? { state: 'unknown', message: `${baseUrl.host} lists its models without a key, too` }
    : { state: 'accepted', message: `${baseUrl.host} accepts the key` }
}
