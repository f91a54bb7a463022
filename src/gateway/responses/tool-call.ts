import type { ToolCall } from '../../contract/text-event.ts'
import { isObject, stringOf, type JsonObject } from '../json-access.ts'

/**
 * A call of one of the caller's own tools (function or custom); undefined for every other kind of item.
 * @param streamed the arguments as they came in pieces, for an item that leaves them out
 */
export function readToolCall(item: JsonObject, streamed = ''): ToolCall | undefined {
  const type = item['type']
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined
  const given = type === 'function_call' ? item['arguments'] : item['input']
  const text = stringOf(given) || streamed
  return {
    id: stringOf(item['call_id']) ?? stringOf(item['id']) ?? null,
    name: stringOf(item['name']) ?? '',
    arguments: isObject(given) ? given : type === 'function_call' ? parseArguments(text) : text,
  }
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
