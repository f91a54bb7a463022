import { UsageError } from '../../errors.ts'
import { listOf, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import type { Body } from '../operation.ts'

/** The two forms in which text is asked for; each is called by its command. */
export type Style = 'generate' | 'respond'

export interface Conversation {
  readonly style: Style
  /** Where it is held: `sandbox`, or the origin of a base URL; undefined before the first answer. */
  readonly gateway?: string | undefined
  /** Of the last exchange. */
  readonly model?: string | undefined
  /** Instructions, which have to be sent again each time. */
  readonly system?: string | undefined
  /** Other fields that hold for the whole conversation: tools, reasoning, `store`, … */
  readonly settings: Body
  /** Contents or items as they are sent, answers too, media by reference (`files/media-references.ts`). */
  readonly messages: readonly JsonObject[]
  /** What the gateway keeps, and how many of the messages that stands for, from the first on. */
  readonly response?: { readonly id: string; readonly count: number } | undefined
  /** Whether only the gateway has the messages before these. */
  readonly lacksBeginning?: boolean | undefined
}

/** The fields of a request that hold for its whole conversation. How an answer has to look is asked for each time. */
const carried: Readonly<Record<Style, readonly string[]>> = {
  generate: ['tools', 'safetySettings', 'cachedContent'],
  respond: [
    'tools',
    'parallel_tool_calls',
    'reasoning',
    'store',
    'include',
    'conversation',
    'truncation',
    'prompt_cache_key',
    'safety_identifier',
  ],
}

export function settingsOf(style: Style, body: JsonObject): Pick<Conversation, 'system' | 'settings'> {
  const settings: Body = {}
  for (const name of carried[style]) if (body[name] != null) settings[name] = body[name]
  if (style === 'respond') return { system: stringOf(body['instructions']) || undefined, settings }
  const { thinkingConfig } = objectOf(body['generationConfig'])
  if (thinkingConfig !== undefined) settings['generationConfig'] = { thinkingConfig }
  const { systemInstruction } = body
  const parts = objectsOf(objectOf(systemInstruction)['parts'])
  const isText = parts.length > 0 && parts.every((part) => Object.keys(part).join() === 'text')
  if (!isText && systemInstruction != null) settings['systemInstruction'] = systemInstruction
  return { system: isText ? parts.map(({ text }) => text).join('\n\n') : undefined, settings }
}

export function isKept({ store, conversation }: JsonObject): boolean {
  return store !== false || conversation != null
}

export const messageField = { generate: 'contents', respond: 'input' } as const

/** The field of a request that has its instructions, and its value. */
export function systemField(style: Style, text: string): [name: string, value: unknown] {
  return style === 'respond' ? ['instructions', text] : ['systemInstruction', { parts: [{ text }] }]
}

/** The messages of a request; what is none is left to the contract check. */
export function messagesOf(style: Style, body: JsonObject): unknown[] {
  const given = body[messageField[style]]
  if (typeof given === 'string') return [{ role: 'user', content: given }]
  return given === undefined ? [] : Array.isArray(given) ? (given as unknown[]) : [given]
}

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

/** Whether a message is the caller's, and no part of an answer. */
export function isCallers({ role, type, parts }: JsonObject): boolean {
  if (role === 'model' || role === 'assistant') return false
  if (role !== undefined || parts !== undefined || type === 'message' || type === 'item_reference')
    return true
  return /_output$|^mcp_approval_response$/.test(stringOf(type) ?? '')
}

export function lastAnswer(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages.slice(messages.findLastIndex(isCallers) + 1)
}

const shownParts: ReadonlySet<unknown> = new Set(['input_text', 'output_text', 'text', undefined])

export function textOf({ content, parts, type, role }: JsonObject): string {
  if (role === undefined && type !== 'message' && parts === undefined) return ''
  if (typeof content === 'string') return content
  return objectsOf(parts ?? content)
    .filter((part) => part['thought'] !== true && shownParts.has(part['type']))
    .map(({ text }) => stringOf(text) ?? '')
    .join('')
}

/**
 * What goes back of a reply: all of it, or only its text where it is not whole.
 * @returns with the id under which the gateway may have kept everything up to it; undefined where nothing came
 */
export function answerOf(style: Style, reply: JsonObject, isWhole: boolean) {
  const { content, output, id } = reply
  const text = stringOf(reply['text']) ?? ''
  // Thoughts are shown and not sent back, unless they are signed.
  const parts = objectsOf(objectOf(content)['parts']).filter(
    (part) => part['thought'] !== true || part['thoughtSignature'] !== undefined,
  )
  const whole =
    style === 'respond' ? itemsSentBack(output) : parts.length > 0 ? [{ role: 'model', parts }] : []
  const plain =
    style === 'respond' ? { role: 'assistant', content: text } : { role: 'model', parts: [{ text }] }
  const messages = isWhole && whole.length > 0 ? whole : text === '' ? [] : [plain]
  return messages.length === 0 ? undefined : { messages, id: isWhole ? stringOf(id) : undefined }
}

/** Kinds of items that a gateway takes back without the reasoning that led to them. */
const standsAlone: ReadonlySet<unknown> = new Set(['message', 'function_call', 'custom_tool_call'])

/**
 * Items of an answer that a gateway takes back without having kept them; none where they are nothing but text.
 * Reasoning can only go back encrypted; without it, the ids of what belongs to it would be refused.
 */
function itemsSentBack(output: unknown): JsonObject[] {
  const items = objectsOf(output)
  const lacksReasoning = items.some(
    (item) => item['type'] === 'reasoning' && stringOf(item['encrypted_content']) === undefined,
  )
  const kept = lacksReasoning ? items.filter(({ type }) => standsAlone.has(type)) : items
  if (kept.every(isPlain)) return []
  // A reply says `null` of a field that a request may not have.
  const isSent = ([name, value]: [string, unknown]) => value !== null && !(lacksReasoning && name === 'id')
  return kept.map((item) => Object.fromEntries(Object.entries(item).filter(isSent)))
}

function isPlain({ type, content }: JsonObject): boolean {
  return (
    type === 'message' &&
    objectsOf(content).every(
      (part) => part['type'] === 'output_text' && listOf(part['annotations']).length === 0,
    )
  )
}
