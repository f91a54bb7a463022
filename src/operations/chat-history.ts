import { UsageError } from '../errors.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import { parseJson } from '../files/parse-json.ts'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../json.ts'
import { functionResponse } from './tool-outputs.ts'

/** Earlier messages in the form of one of the two text styles. */
export interface History {
  readonly messages: readonly unknown[]
  /** The system messages, a paragraph each; undefined when there are none. */
  readonly system: string | undefined
}

/** A message as chat programs keep it: `{"role", "content"}`, with `tool_calls` or a `tool_call_id` where tools were used. */
interface ChatMessage {
  /** From 1, for problems. */
  readonly position: number
  readonly role: string
  readonly content: unknown
  readonly calls: readonly ChatCall[]
  /** The call that a message of the role `tool` answers. */
  readonly callId: string | undefined
}

interface ChatCall {
  readonly id: string | undefined
  readonly name: string
  /** JSON, as text; of a custom tool any text. */
  readonly arguments: string
  readonly isCustom: boolean
}

const systemRoles: ReadonlySet<string> = new Set(['system', 'developer'])

/**
 * A conversation as contents of the content-generation style: contents pass as they are, chat messages are converted.
 * @param value an array of either form, or an object with one under `contents` or `messages`
 * @throws UsageError for anything else, and for a message that has no counterpart
 */
export function readContents(value: unknown): History {
  const names = new Map<string, string>()
  const system: string[] = []
  const messages: JsonObject[] = []
  for (const entry of entriesOf(value, 'contents')) {
    const chat = chatMessage(entry, 'parts')
    if (chat === undefined) messages.push(entry.value as JsonObject)
    else if (systemRoles.has(chat.role)) system.push(textOf(chat))
    else {
      const content = contentOf(chat, names)
      const last = messages.at(-1)
      // The answers to calls that were made together are one message.
      if (chat.role === 'tool' && last !== undefined && answersCalls(last)) {
        messages[messages.length - 1] = { ...last, parts: [...objectsOf(last['parts']), ...content.parts] }
      } else messages.push(content)
    }
  }
  return { messages, system: system.length === 0 ? undefined : system.join('\n\n') }
}

/**
 * A conversation as input items of the response style: items pass as they are, chat messages are converted. System
 * messages at the beginning become `system`; later ones are items where they stand.
 * @param value an array of either form, or an object with one under `input` or `messages`
 * @throws UsageError for anything else, and for a message that has no counterpart
 */
export function readInputItems(value: unknown): History {
  const custom = new Set<string>()
  const system: string[] = []
  const messages: unknown[] = []
  for (const entry of entriesOf(value, 'input')) {
    const chat = chatMessage(entry, 'type')
    if (chat === undefined) messages.push(entry.value)
    else if (systemRoles.has(chat.role) && messages.length === 0) system.push(textOf(chat))
    else messages.push(...itemsOf(chat, custom))
  }
  return { messages, system: system.length === 0 ? undefined : system.join('\n\n') }
}

interface Entry {
  readonly position: number
  readonly value: unknown
}

function entriesOf(value: unknown, name: 'contents' | 'input'): Entry[] {
  const { [name]: own, messages } = objectOf(value)
  const list = Array.isArray(value) ? value : (own ?? messages)
  if (!Array.isArray(list)) {
    throw new UsageError(`must be an array of messages, or an object with one under "${name}" or "messages".`)
  }
  return list.map((entry: unknown, index) => ({ position: index + 1, value: entry }))
}

/** @param wireField the field by which the style's own messages are told; undefined for one of these */
function chatMessage({ position, value }: Entry, wireField: string): ChatMessage | undefined {
  if (!isObject(value) || value[wireField] !== undefined || typeof value['role'] !== 'string')
    return undefined
  const { role, content, tool_calls: calls, tool_call_id: callId } = value
  if (content === undefined && calls === undefined) return undefined
  return {
    position,
    role: role === 'model' ? 'assistant' : role,
    content,
    calls: objectsOf(calls).map((call) => {
      const isCustom = isObject(call['custom'])
      const { name, arguments: text, input } = objectOf(isCustom ? call['custom'] : call['function'])
      if (typeof name !== 'string')
        throw new UsageError(`message ${position} has a tool call without a name.`)
      const given = isCustom ? (stringOf(input) ?? '') : stringOf(text) || '{}'
      return { id: stringOf(call['id']), name, arguments: given, isCustom }
    }),
    callId: stringOf(callId),
  }
}

const roles = ['user', 'assistant', 'system', 'tool'] as const

function unknownRole({ position, role }: ChatMessage): UsageError {
  return new UsageError(`message ${position} has the role "${role}"; it must be one of ${roles.join(', ')}.`)
}

/** The parts of a message's content; a text is one part. */
function partsOf({ position, content }: ChatMessage): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (content === null || content === undefined) return []
  if (Array.isArray(content) && content.every(isObject)) return content
  throw new UsageError(`message ${position}: its content must be text or an array of parts.`)
}

function textOf(message: ChatMessage): string {
  return partsOf(message)
    .map(({ text }) => stringOf(text) ?? '')
    .join('\n')
}

/** @param names collects the names of the calls by their ids: an answer has to repeat them */
function contentOf(
  message: ChatMessage,
  names: Map<string, string>,
): { role: string; parts: readonly JsonObject[] } {
  const { position, role, calls, callId } = message
  if (role === 'tool') {
    const name = callId === undefined ? undefined : names.get(callId)
    if (name === undefined)
      throw new UsageError(`message ${position} answers no call of a message before it.`)
    return { role: 'user', parts: [functionResponse({ id: callId, name }, textOf(message))] }
  }
  if (role !== 'user' && role !== 'assistant') throw unknownRole(message)
  const callParts = calls.map(({ id, name, arguments: text, isCustom }) => {
    if (isCustom) throw noCounterpart(position, 'a call of a custom tool')
    if (id !== undefined) names.set(id, name)
    const { value: args, problem } = parseJson(text)
    if (problem === undefined) return { functionCall: { ...(id === undefined ? {} : { id }), name, args } }
    throw new UsageError(`message ${position}: the arguments of ${name} are not valid JSON.`)
  })
  const parts = partsOf(message).map((part) => contentPart(part, position))
  return { role: role === 'user' ? 'user' : 'model', parts: [...parts, ...callParts] }
}

function answersCalls({ parts }: JsonObject): boolean {
  return objectsOf(parts).some((part) => part['functionResponse'] !== undefined)
}

/** A part of a chat message (`text`, `image_url`, `input_audio`, `file`) in the content-generation style. */
function contentPart(part: JsonObject, position: number): JsonObject {
  const { type, text, image_url: image, input_audio: audio, file } = part
  if (typeof text === 'string') return { text }
  if (image !== undefined) return mediaPart(stringOf(image) ?? stringOf(objectOf(image)['url']) ?? '')
  const { data, format } = objectOf(audio)
  if (typeof data === 'string')
    return { inlineData: { mimeType: `audio/${stringOf(format) ?? 'wav'}`, data } }
  const { file_data: fileData } = objectOf(file)
  if (typeof fileData === 'string') return mediaPart(fileData)
  throw noCounterpart(position, `a part of the type ${JSON.stringify(type ?? null)}`)
}

function noCounterpart(position: number, what: string): UsageError {
  return new UsageError(`message ${position}: ${what} has no counterpart in this style.`)
}

/** `inlineData` for a data URL, `fileData` for another. */
function mediaPart(url: string): JsonObject {
  const [, mimeType, data] = /^data:([^;,]*)[^,]*;base64,([^]*)$/.exec(url) ?? []
  if (data !== undefined) return { inlineData: { mimeType: mimeType || 'application/octet-stream', data } }
  const guessed = mediaTypeOfName(URL.parse(url)?.pathname ?? url)
  return { fileData: { ...(guessed === undefined ? {} : { mimeType: guessed }), fileUri: url } }
}

/**
 * A chat message as input items: a message, the calls that it makes, or the answer to one.
 * @param custom collects the ids of calls of custom tools, whose answers have a kind of their own
 */
function itemsOf(message: ChatMessage, custom: Set<string>): JsonObject[] {
  const { position, role, content, calls, callId } = message
  if (role === 'tool') {
    if (callId === undefined)
      throw new UsageError(`message ${position} answers no call: it has no tool_call_id.`)
    const type = custom.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
    return [{ type, call_id: callId, output: textOf(message) }]
  }
  if (role !== 'user' && role !== 'assistant' && !systemRoles.has(role)) throw unknownRole(message)
  const parts = partsOf(message)
  const shown = typeof content === 'string' ? content : parts.map((part) => inputPart(part, role))
  return [
    ...(parts.length === 0 ? [] : [{ role, content: shown }]),
    ...calls.map(({ id, name, arguments: text, isCustom }) => {
      const call = { call_id: id ?? name, name }
      if (!isCustom) return { type: 'function_call', ...call, arguments: text }
      custom.add(call.call_id)
      return { type: 'custom_tool_call', ...call, input: text }
    }),
  ]
}

/** A part of a chat message in the response style, whose own parts pass as they are. */
function inputPart(part: JsonObject, role: string): JsonObject {
  const { type, text, image_url: image, file } = part
  if (type === 'text') return { type: role === 'assistant' ? 'output_text' : 'input_text', text }
  if (type === 'image_url') {
    const { url, detail } = objectOf(image)
    return {
      type: 'input_image',
      image_url: stringOf(image) ?? url,
      ...(detail === undefined ? {} : { detail }),
    }
  }
  return type === 'file' && isObject(file) ? { type: 'input_file', ...file } : part
}
