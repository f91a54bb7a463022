import { objectsOf, stringOf, type JsonObject } from '../json-access.ts'

/** Whether an output item holds words of the assistant: some leave the type out, and some repeat the question. */
export function isAnswer({ type, role, content }: JsonObject): boolean {
  const isMessage = type === 'message' || (type === undefined && content !== undefined)
  return isMessage && (typeof role !== 'string' || role === 'assistant')
}

/** The content of a message; plain text, as messages of the input may have it, is one part. */
export function contentParts({ content }: JsonObject): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : objectsOf(content)
}

const otherWords = new Set<unknown>(['refusal', 'reasoning_text', 'summary_text', 'input_text'])

/** The part's share of the answer. */
export function answerText(part: JsonObject): string {
  return otherWords.has(part['type']) ? '' : (stringOf(part['text']) ?? '')
}
