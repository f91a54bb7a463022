import { readScenario } from '../answer/answer.ts'
import { objectsOf, textOf, type JsonObject } from '../json-value.ts'

type Extent = 'whole' | 'part' | 'nothing'

/** How much of an answer comes before its finish reason. */
const finishReasons: Readonly<Record<string, Extent>> = {
  STOP: 'whole',
  FINISH_REASON_UNSPECIFIED: 'whole',
  CONTINUATION: 'whole',
  MAX_TOKENS: 'part',
  SAFETY: 'part',
  RECITATION: 'part',
  LANGUAGE: 'part',
  OTHER: 'part',
  MALFORMED_RESPONSE: 'part',
  BLOCKLIST: 'nothing',
  PROHIBITED_CONTENT: 'nothing',
  SPII: 'nothing',
  MALFORMED_FUNCTION_CALL: 'nothing',
  UNEXPECTED_TOOL_CALL: 'nothing',
  TOO_MANY_TOOL_CALLS: 'nothing',
  MISSING_THOUGHT_SIGNATURE: 'nothing',
  NO_IMAGE: 'nothing',
  IMAGE_SAFETY: 'nothing',
  IMAGE_PROHIBITED_CONTENT: 'nothing',
  IMAGE_RECITATION: 'nothing',
  IMAGE_OTHER: 'nothing',
}

const endings = Object.fromEntries(
  Object.entries(finishReasons).map(([ending, extent]) => [ending, { ending, extent }]),
)

/** The scenario of a request: one of both styles, or a finish reason (`sandbox:RECITATION`). */
export function contentScenario(header: string | undefined, prompt: string, model: string) {
  return readScenario(header, prompt, model, endings)
}

/** The finish reason of an ending, and its message. */
export function finishOf(ending: string): JsonObject {
  if (Object.hasOwn(finishReasons, ending)) {
    const finishMessage = `[sandbox] The answer ended with ${ending}.`
    return { finishReason: ending, ...(ending !== 'STOP' && { finishMessage }) }
  }
  if (ending === 'failure')
    return { finishReason: 'OTHER', finishMessage: '[sandbox] Nothing could be generated.' }
  const reasons: Readonly<Record<string, string>> = { complete: 'STOP', length: 'MAX_TOKENS', error: 'OTHER' }
  return { finishReason: reasons[ending] ?? 'SAFETY' }
}

const blockReasons = new Set([
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
  'BLOCK_REASON_UNSPECIFIED',
])

/** The reason for which a prompt is blocked: that of `sandbox:block:JAILBREAK`, or the usual one. */
export function blockReasonOf(wanted = ''): string {
  return blockReasons.has(wanted) ? wanted : 'PROHIBITED_CONTENT'
}

/**
 * The ratings of an answer: one for every category that the request sets a threshold for.
 * @param refuses whether the model refuses, which is rated, too
 */
export function ratingsOf(body: JsonObject, refuses: boolean): readonly JsonObject[] {
  const dangerous = 'HARM_CATEGORY_DANGEROUS_CONTENT'
  const categories = new Set(objectsOf(body['safetySettings']).map(({ category }) => textOf(category)))
  if (refuses) categories.add(dangerous)
  return Array.from(categories, (category) => {
    const blocked = refuses && category === dangerous
    return { category, probability: blocked ? 'HIGH' : 'NEGLIGIBLE', blocked }
  })
}
