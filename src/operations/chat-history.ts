import { UsageError } from '../errors.ts'
import { objectOf } from '../json.ts'
import { messageField, type Style } from './conversation/conversation.ts'

const systemRoles: ReadonlySet<unknown> = new Set(['system', 'developer'])
const contentRoles: Readonly<Record<string, string>> = { user: 'user', assistant: 'model', model: 'model' }

/**
 * Reads the messages of a style, which pass as they are, and messages of text as chat programs keep them
 * (`{"role", "content"}`). System messages become `system`, those of the response style only at the beginning.
 * @throws UsageError for anything else, and for a message that has no counterpart
 */
export function readHistory(value: unknown, style: Style) {
  const field = messageField[style]
  const { [field]: own, messages: others } = objectOf(value)
  const list = Array.isArray(value) ? value : (own ?? others)
  if (!Array.isArray(list)) {
    throw new UsageError(
      `must be an array of messages, or an object with one under "${field}" or "messages".`,
    )
  }
  const system: string[] = []
  const messages: unknown[] = []
  for (const [index, message] of list.entries()) {
    const { role, content, parts, type, tool_calls: calls } = objectOf(message)
    const isSystem = systemRoles.has(role) && typeof content === 'string' && type === undefined
    if (isSystem && (style === 'generate' || messages.length === 0)) {
      system.push(content)
      continue
    }
    const refusal = (form: string) => new UsageError(`message ${index + 1} has to be ${form}.`)
    if (style === 'respond') {
      if (role === 'tool' || calls !== undefined) {
        throw refusal('written as items: {"type": "function_call"} and {"type": "function_call_output"}')
      }
      messages.push(message)
    } else if (parts !== undefined || content === undefined) messages.push(message)
    else {
      const contentRole = typeof role === 'string' ? contentRoles[role] : undefined
      if (contentRole === undefined || typeof content !== 'string' || calls !== undefined) {
        throw refusal('a text of the user or the assistant, or {"role", "parts"}')
      }
      messages.push({ role: contentRole, parts: [{ text: content }] })
    }
  }
  return { messages, system: system.length === 0 ? undefined : system.join('\n\n') }
}
