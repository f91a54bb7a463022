import { countTokens } from '../answer/tokens.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, objectsOf, textOf } from '../json-value.ts'

/** What an image or a file counts, whatever its size. */
const mediaTokens = 258

/** `input` (and `prompt`, where there is no input) as a list of items. */
export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

/** A message's words; empty for any other item. */
export function textInItem({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

export function isToolOutput({ type }: JsonObject): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}

export function countItem(item: JsonObject): number {
  const { content } = item
  if (typeof content === 'string') return countTokens(content)
  if (!Array.isArray(content)) return countTokens(JSON.stringify(item))
  return objectsOf(content).reduce((sum, part) => sum + countPart(part), 0)
}

function countPart(part: JsonObject): number {
  if (typeof part['text'] === 'string') return countTokens(part['text'])
  if (typeof part['refusal'] === 'string') return countTokens(part['refusal'])
  return isObject(part) && textOf(part['type']).startsWith('input_') ? mediaTokens : 0
}
