/** Error codes for a prompt, a picture or an answer that was refused for its content. */
const refusedContentWords = new Set([
  'blocklist',
  'content_blocked',
  'content_filter',
  'content_filtered',
  'content_moderation',
  'content_policy',
  'content_policy_violation',
  'data_inspection_failed',
  'datainspectionfailed',
  'image_content_policy_violation',
  'image_prohibited_content',
  'image_safety',
  'jailbreak',
  'model_armor',
  'moderation_blocked',
  'policy_violation',
  'prohibited_content',
  'prompt_blocked',
  'responsibleaipolicyviolation',
  'safety',
  'sensitive_words_detected',
  'spii',
])
/** The same in words, for gateways that give no code of their own. */
const refusedContentMessage =
  /\b(safety (system|reasons)|content (management |filtering |safety )?polic(y|ies)|usage (guidelines|polic(y|ies))|responsible ai|prohibited (content|use policy)|(blocked|rejected|refused) by [^.]{0,40}(safety|moderation|content filter)|sensitive words?\b|flagged (as|by|for))/i

/**
 * Whether an error says that the content was refused, not the request: a prompt, a picture, or what was made of them.
 * @param words codes, in any case
 */
export function isContentRefusal({
  message = '',
  words,
}: {
  readonly message?: string | undefined
  readonly words: readonly string[]
}): boolean {
  return (
    words.some((word) => refusedContentWords.has(word.toLowerCase())) || refusedContentMessage.test(message)
  )
}

/** The hint for refused content. */
export const changeContent =
  'Change the prompt, or what is attached to it: the same request would be refused again.'
