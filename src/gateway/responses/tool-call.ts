import type { ToolCall } from '../../contract/text-event.ts'
import { stringOf, type JsonObject } from '../json-access.ts'

/** A call of one of the caller's own tools (function or custom); undefined for every other kind of item. */
export function readToolCall(item: JsonObject): ToolCall | undefined {
  const type = item['type']
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined
  const text = stringOf(type === 'function_call' ? item['arguments'] : item['input']) ?? ''
  return {
    id: stringOf(item['call_id']) ?? stringOf(item['id']) ?? null,
    name: stringOf(item['name']) ?? '',
    arguments: type === 'function_call' ? parseArguments(text) : text,
  }
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
