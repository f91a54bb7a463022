import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import type { Body } from '../operation.ts'

/** The two forms in which text is asked for; each is called by its command. */
export type Style = 'generate' | 'respond'

/** One side of an exchange. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  /** The form of the messages. */
  readonly style: Style
  /** Contents or items exactly as they were sent or came, media by reference (`files/media-references.ts`). */
  readonly messages: readonly JsonObject[]
  /** What was said, without reasoning, tools and media. */
  readonly text: string
  /** Of an answer: the id under which the gateway has kept everything up to it. */
  readonly response?: string | undefined
  /** Of an answer: where it came from; what only that gateway understands is not sent to another one. */
  readonly source?: string | undefined
  /** Of an answer that was stopped, or broke off: the text that had come. */
  readonly isCut?: true
}

/** All that the next request goes on from. */
export interface Conversation {
  /** Of the last exchange. */
  readonly style: Style
  readonly model: string | undefined
  /** Instructions, which have to be sent again each time. */
  readonly system: string | undefined
  /** Other fields that hold for the whole conversation, in the names of `style`: tools, reasoning, `store`, … */
  readonly settings: Body
  /** From the first on, as far as they are known. */
  readonly turns: readonly Turn[]
  /** The response that the first of these turns went on from, if it is known by its id alone. */
  readonly before?: string | undefined
}

/**
 * The same without secrets; a turn that has none is the same object.
 * @param clean takes secrets out of JSON: a text may be written in a form in which what takes their place means
 *   something else
 */
export function withoutSecrets(
  { turns, ...others }: Conversation,
  clean: (json: string) => string,
): Conversation {
  const cleaned = <Value>(value: Value): Value => {
    const json = JSON.stringify(value)
    const kept = clean(json)
    if (kept === json) return value
    const without = JSON.parse(kept) as Value
    // It may only be spelled in another way.
    return JSON.stringify(without) === json ? value : without
  }
  return { ...cleaned(others), turns: turns.map(cleaned) }
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

/** What of a request holds for the whole conversation. */
export function settingsOf(style: Style, body: JsonObject): Pick<Conversation, 'system' | 'settings'> {
  const settings: Body = {}
  for (const name of carried[style]) {
    if (body[name] !== undefined && body[name] !== null) settings[name] = body[name]
  }
  if (style === 'respond') return { system: stringOf(body['instructions']) || undefined, settings }
  const { thinkingConfig } = objectOf(body['generationConfig'])
  if (thinkingConfig !== undefined) settings['generationConfig'] = { thinkingConfig }
  const { systemInstruction } = body
  const parts = objectsOf(objectOf(systemInstruction)['parts'])
  const isText = parts.length > 0 && parts.every((part) => isOnly(part, ['text']))
  if (!isText && systemInstruction !== undefined && systemInstruction !== null)
    settings['systemInstruction'] = systemInstruction
  return { system: isText ? parts.map(({ text }) => text).join('\n\n') : undefined, settings }
}

/** The messages of a request, in the one form that each of them is kept in. */
export function messagesOf(style: Style, body: JsonObject): JsonObject[] {
  const given = body[style === 'respond' ? 'input' : 'contents']
  if (typeof given === 'string') return [{ role: 'user', content: given }]
  return objectsOf(given).map((message) => {
    // A text is kept in one form, however it was sent.
    const [part, ...others] = objectsOf(message['content'])
    const isText = part !== undefined && others.length === 0 && isOnly(part, ['type', 'text'])
    return isText && part['type'] === 'input_text' && isOnly(message, ['role', 'content'])
      ? { ...message, content: part['text'] }
      : message
  })
}

/** Messages as turns: what one side said without a break is one. */
export function turnsOf(style: Style, messages: readonly JsonObject[]): Turn[] {
  const turns: { role: Turn['role']; messages: JsonObject[] }[] = []
  for (const message of messages) {
    const role = sideOf(message)
    const last = turns.at(-1)
    if (last?.role === role) last.messages.push(message)
    else turns.push({ role, messages: [message] })
  }
  return turns.map((turn) => ({ ...turn, style, text: textOf(turn.role, turn.messages) }))
}

/** Kinds of items that the caller sends. */
const callersItem = /_output$|^mcp_approval_response$/

function sideOf({ role, type }: JsonObject): Turn['role'] {
  if (role === 'model' || role === 'assistant') return 'assistant'
  if (role !== undefined || type === 'message' || type === 'item_reference') return 'user'
  return callersItem.test(stringOf(type) ?? '') ? 'user' : 'assistant'
}

/** What a user says is a paragraph for each part; the parts of an answer are one text. */
export const separators: Readonly<Record<Turn['role'], string>> = { user: '\n\n', assistant: '' }

function textOf(role: Turn['role'], messages: readonly JsonObject[]): string {
  const texts: string[] = []
  mapTexts(messages, (text) => {
    texts.push(text)
    return text
  })
  return texts.join(separators[role])
}

const shownParts: ReadonlySet<unknown> = new Set(['input_text', 'output_text', 'text', undefined])

/** A copy of messages with each text that was said, and is not empty, replaced, in their order. */
export function mapTexts(messages: readonly JsonObject[], change: (text: string) => unknown): JsonObject[] {
  const changed = (value: unknown) => (typeof value === 'string' && value !== '' ? change(value) : value)
  const part = (value: unknown): unknown => {
    if (!isObject(value) || typeof value['text'] !== 'string' || value['thought'] === true) return value
    return shownParts.has(value['type']) ? { ...value, text: changed(value['text']) } : value
  }
  return messages.map((message) => {
    const { content, parts, type, role } = message
    if (Array.isArray(parts)) return { ...message, parts: parts.map(part) }
    if (role === undefined && type !== 'message') return message
    if (typeof content === 'string') return { ...message, content: changed(content) }
    return Array.isArray(content) ? { ...message, content: content.map(part) } : message
  })
}

/** An answer that is known by its text alone, as a message. */
export function plainMessage(style: Style, role: Turn['role'], text: string): JsonObject {
  if (style === 'respond') return { role, content: text }
  return { role: role === 'user' ? 'user' : 'model', parts: [{ text }] }
}

/** What came of a request, as it is kept (`LogEntry.reply`). */
export interface Answer {
  readonly style: Style
  /** `content`, or `output` with `id`; `text`. */
  readonly reply: JsonObject
  /** Whether the gateway keeps it for a request that names it. */
  readonly isStored: boolean
  readonly source: string | undefined
  /** Whether the answer is whole. */
  readonly isWhole: boolean
}

/** The turn of an answer; undefined where nothing came that a conversation could go on from. */
export function answerTurn({ style, reply, isStored, source, isWhole }: Answer): Turn | undefined {
  const text = stringOf(reply['text']) ?? ''
  const base = { role: 'assistant', style, source } as const
  if (isWhole) {
    const { content, output } = reply
    const parts = objectsOf(objectOf(content)['parts']).filter(isSentBack)
    const items = isPlain(objectsOf(output)) ? [] : objectsOf(output)
    const own = style === 'respond' ? items : parts.length === 0 ? [] : [{ role: 'model', parts }]
    const messages = own.length > 0 || text === '' ? own : [plainMessage(style, 'assistant', text)]
    const id = isStored ? stringOf(reply['id']) : undefined
    if (messages.length > 0) return { ...base, messages, text: textOf('assistant', messages), response: id }
  }
  if (text === '') return undefined
  return { ...base, messages: [plainMessage(style, 'assistant', text)], text, isCut: true }
}

/** Whether items are nothing but text. */
function isPlain(items: readonly JsonObject[]): boolean {
  return items.every(({ type, content }) => {
    const parts = objectsOf(content)
    return (
      type === 'message' &&
      parts.every((part) => part['type'] === 'output_text' && objectsOf(part['annotations']).length === 0)
    )
  })
}

/** Thoughts are shown and not sent back, unless they are signed. */
function isSentBack(part: JsonObject): boolean {
  return part['thought'] !== true || part['thoughtSignature'] !== undefined
}

/** A call of a tool that waits for its output. */
export interface PendingCall {
  /** Names the call in an answer to it. */
  readonly id: string
  readonly name: string
  readonly kind: 'function' | 'custom' | 'approval'
}

/** The calls of the last answer: a gateway refuses a request that does not answer them. */
export function pendingCalls({ turns }: Pick<Conversation, 'turns'>): PendingCall[] {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return []
  if (last.style === 'generate') {
    const parts = last.messages.flatMap((message) => objectsOf(message['parts']))
    const answered = new Set(parts.map((part) => stringOf(objectOf(part['functionResponse'])['name'])))
    return parts.flatMap(({ functionCall }) => {
      const { id, name } = objectOf(functionCall)
      if (typeof name !== 'string' || answered.has(name)) return []
      return [{ id: stringOf(id) ?? name, name, kind: 'function' as const }]
    })
  }
  return last.messages.flatMap((item) => {
    const { type, id, call_id: call, name } = item
    const kind = typeof type === 'string' && Object.hasOwn(callKinds, type) ? callKinds[type]! : undefined
    const own = stringOf(kind === 'approval' ? id : call)
    return kind === undefined || own === undefined ? [] : [{ id: own, name: stringOf(name) ?? '', kind }]
  })
}

const callKinds: Readonly<Record<string, PendingCall['kind']>> = {
  function_call: 'function',
  custom_tool_call: 'custom',
  mcp_approval_request: 'approval',
}

/** Whether an object has no other fields than these. */
export function isOnly(object: JsonObject, names: readonly string[]): boolean {
  return Object.keys(object).every((name) => names.includes(name))
}

/** How many exchanges there are, as far as they are known. */
export function countExchanges({ turns }: Pick<Conversation, 'turns'>): number {
  return turns.filter(({ role }, index) => role === 'user' && turns[index - 1]?.role !== 'user').length
}
