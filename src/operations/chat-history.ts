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
  /** For problems: `message 1`. */
  readonly name: string
  readonly role: string
  readonly content: unknown
  /** Of its content; a text is one. */
  readonly parts: readonly JsonObject[]
  readonly calls: readonly JsonObject[]
  /** The call that a message of the role `tool` answers. */
  readonly callId: string | undefined
}

const roles = ['user', 'assistant', 'system', 'tool']
const systemRoles: ReadonlySet<string> = new Set(['system', 'developer'])

/**
 * A conversation as contents of the content-generation style: contents pass as they are, chat messages are converted.
 * @param value an array of either form, or an object with one under `contents` or `messages`
 * @throws UsageError for anything else, and for a message that has no counterpart
 */
export function readContents(value: unknown): History {
  // An answer to a call has to repeat the name of the function.
  const names = new Map<string, string>()
  return readHistory(value, 'contents', (chat, messages) => {
    const { name: position, role, parts, calls, callId } = chat
    if (role === 'tool') {
      const name = callId === undefined ? undefined : names.get(callId)
      if (name === undefined) throw new UsageError(`${position} answers no call of a message before it.`)
      const answer = functionResponse({ id: callId, name }, textOf(parts))
      const last = objectOf(messages.at(-1))
      const before = objectsOf(last['parts'])
      // The answers to calls that were made together are one message.
      if (before.some((part) => part['functionResponse'] !== undefined))
        messages[messages.length - 1] = { ...last, parts: [...before, answer] }
      else messages.push({ role: 'user', parts: [answer] })
      return
    }
    const callParts = calls.map((call) => {
      const { id, name, text, isCustom } = calledIn(call, position)
      if (isCustom) throw noCounterpart(position, 'a call of a custom tool')
      if (id !== undefined) names.set(id, name)
      const { value: args, problem } = parseJson(text)
      if (problem !== undefined)
        throw new UsageError(`${position}: the arguments of ${name} are not valid JSON.`)
      return { functionCall: { ...(id === undefined ? {} : { id }), name, args } }
    })
    const said = parts.map((part) => contentPart(part, position))
    messages.push({ role: role === 'user' ? 'user' : 'model', parts: [...said, ...callParts] })
  })
}

/**
 * A conversation as input items of the response style: items pass as they are, chat messages are converted. System
 * messages at the beginning become `system`; later ones are items where they stand.
 * @param value an array of either form, or an object with one under `input` or `messages`
 * @throws UsageError for anything else, and for a message that has no counterpart
 */
export function readInputItems(value: unknown): History {
  // Answers to calls of custom tools have a kind of their own.
  const custom = new Set<string>()
  return readHistory(value, 'input', ({ name: position, role, content, parts, calls, callId }, messages) => {
    if (role === 'tool') {
      if (callId === undefined) throw new UsageError(`${position} answers no call: it has no tool_call_id.`)
      const type = custom.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
      messages.push({ type, call_id: callId, output: textOf(parts) })
      return
    }
    const said = typeof content === 'string' ? content : parts.map((part) => inputPart(part, role))
    if (parts.length > 0) messages.push({ role, content: said })
    for (const call of calls) {
      const { id, name, text, isCustom } = calledIn(call, position)
      const own = { call_id: id ?? name, name }
      if (isCustom) custom.add(own.call_id)
      messages.push(
        isCustom
          ? { type: 'custom_tool_call', ...own, input: text }
          : { type: 'function_call', ...own, arguments: text },
      )
    }
  })
}

/** @param convert adds a chat message to the messages of the style */
function readHistory(
  value: unknown,
  field: 'contents' | 'input',
  convert: (chat: ChatMessage, messages: unknown[]) => void,
): History {
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
    const { role, content, tool_calls: calls, tool_call_id: callId, parts, type } = objectOf(message)
    const isOwn = (field === 'contents' ? parts : type) !== undefined
    if (isOwn || typeof role !== 'string' || (content === undefined && calls === undefined)) {
      messages.push(message)
      continue
    }
    const name = `message ${index + 1}`
    const chat = {
      name,
      role: role === 'model' ? 'assistant' : role,
      content,
      parts: partsOf(content, name),
      calls: objectsOf(calls),
      callId: stringOf(callId),
    }
    const isSystem = systemRoles.has(role)
    if (isSystem && (field === 'contents' || messages.length === 0)) system.push(textOf(chat.parts))
    else if (isSystem || roles.includes(chat.role)) convert(chat, messages)
    else throw new UsageError(`${name} has the role "${role}"; it must be one of ${roles.join(', ')}.`)
  }
  return { messages, system: system.length === 0 ? undefined : system.join('\n\n') }
}

function partsOf(content: unknown, position: string): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (content === null || content === undefined) return []
  if (Array.isArray(content) && content.every(isObject)) return content
  throw new UsageError(`${position}: its content must be text or an array of parts.`)
}

function textOf(parts: readonly JsonObject[]): string {
  return parts.map(({ text }) => stringOf(text) ?? '').join('\n')
}

/** A call of a tool: `text` is JSON, of a custom tool any text. */
function calledIn(call: JsonObject, position: string) {
  const isCustom = isObject(call['custom'])
  const { name, arguments: json, input } = objectOf(isCustom ? call['custom'] : call['function'])
  if (typeof name !== 'string') throw new UsageError(`${position} has a tool call without a name.`)
  const text = isCustom ? (stringOf(input) ?? '') : stringOf(json) || '{}'
  return { id: stringOf(call['id']), name, text, isCustom }
}

/** A part of a chat message (`text`, `image_url`, `input_audio`, `file`) in the content-generation style. */
function contentPart(part: JsonObject, position: string): JsonObject {
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

function noCounterpart(position: string, what: string): UsageError {
  return new UsageError(`${position}: ${what} has no counterpart in this style.`)
}

/** `inlineData` for a data URL, `fileData` for another. */
function mediaPart(url: string): JsonObject {
  const [, mimeType, data] = /^data:([^;,]*)[^,]*;base64,([^]*)$/.exec(url) ?? []
  if (data !== undefined) return { inlineData: { mimeType: mimeType || 'application/octet-stream', data } }
  const guessed = mediaTypeOfName(URL.parse(url)?.pathname ?? url)
  return { fileData: { ...(guessed === undefined ? {} : { mimeType: guessed }), fileUri: url } }
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
