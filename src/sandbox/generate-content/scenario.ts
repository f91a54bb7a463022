import { scenarios, scenarioWords, type Scenario } from '../answer/answer.ts'
import type { JsonObject } from '../json-value.ts'

/** What a request asks of the sandbox: the names, each with its variant, if it has one. */
export type Wishes = ReadonlyMap<string, string | undefined>

export function readWishes(header: string | undefined, prompt: string): Wishes {
  return new Map(scenarioWords(header, prompt).map(({ name, variant }) => [name, variant]))
}

/** How much of an answer comes before its finish reason. */
const finishReasons: Readonly<Record<string, 'whole' | 'part' | 'nothing'>> = {
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

const extents = { whole: undefined, part: 'length', nothing: 'empty' } as const

/**
 * The scenario of a request: one of both styles, or a finish reason (`sandbox:RECITATION`), which comes with its message.
 */
export function endingOf(
  wishes: Wishes,
  usual: Scenario | undefined,
): { readonly scenario: Scenario | undefined; readonly finish?: JsonObject } {
  const reason = Object.keys(finishReasons).find((name) => wishes.has(name))
  if (reason === undefined) return { scenario: scenarios.find((name) => wishes.has(name)) ?? usual }
  const scenario = extents[finishReasons[reason]!]
  const message = reason === 'STOP' ? {} : { finishMessage: `[sandbox] The answer ended with ${reason}.` }
  return { scenario, finish: { finishReason: reason, ...message } }
}

/** `sandbox:block:JAILBREAK`; any other reason is the usual one. */
const blockReasons = new Set([
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
  'BLOCK_REASON_UNSPECIFIED',
])

/** The reason for which a prompt is blocked: that of `sandbox:block:REASON`, or the usual one. */
export function blockReasonOf(wishes: Wishes): string {
  const reason = wishes.get('block') ?? ''
  return blockReasons.has(reason) ? reason : 'PROHIBITED_CONTENT'
}
