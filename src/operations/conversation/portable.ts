import { objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { readContents, readInputItems } from '../chat-history.ts'
import type { Style, Turn } from './turns.ts'

/** What goes over to another style, or to another gateway. */
export interface Portable {
  readonly messages: readonly JsonObject[]
  /** What does not, in words. */
  readonly dropped: ReadonlySet<string>
}

/**
 * The messages of turns in the form of a style, without what only the gateway understands that it came from: what was
 * said, what was attached, and calls of functions with what they returned.
 * @param turns with their media
 */
export function portable(turns: readonly Turn[], style: Style): Portable {
  const dropped = new Set<string>()
  const calls = createCallIds()
  const chat = turns.flatMap((turn) => {
    const messages =
      turn.style === 'respond' ? itemsAsChat(turn, dropped) : contentsAsChat(turn, dropped, calls)
    // A turn of which nothing is left would join its neighbours.
    return messages.length > 0 ? messages : [{ role: turn.role, content: '…' }]
  })
  const { messages } =
    style === 'respond' ? readInputItems({ input: chat }) : readContents({ contents: chat })
  return { messages: messages as readonly JsonObject[], dropped }
}

/** The fields of a text or a medium as chat programs have them; undefined for what they do not have. */
function mediaOfPart(part: JsonObject): JsonObject | undefined {
  const { inlineData, fileData, image_url: image, file_data: data, file_url: address, filename } = part
  const { mimeType, data: base64 } = objectOf(inlineData)
  if (typeof base64 === 'string') {
    const url = `data:${stringOf(mimeType)};base64,${base64}`
    const isImage = stringOf(mimeType)?.startsWith('image/') === true
    return isImage ? imagePart(url) : { type: 'file', file: { filename: 'attachment', file_data: url } }
  }
  const { mimeType: type, fileUri } = objectOf(fileData)
  if (typeof fileUri === 'string') {
    const isImage = stringOf(type)?.startsWith('image/') === true
    return isImage ? imagePart(fileUri) : { type: 'file', file: { file_url: fileUri } }
  }
  if (typeof image === 'string') return imagePart(image)
  if (typeof data === 'string') return { type: 'file', file: { filename, file_data: data } }
  return typeof address === 'string' ? imagePart(address) : undefined
}

const imagePart = (url: string) => ({ type: 'image_url', image_url: { url } })

/** Ids for calls of content generation that have none: an answer to one names its function, in their order. */
function createCallIds() {
  const open = new Map<string, string[]>()
  let count = 0
  return {
    call(id: unknown, name: string): string {
      const own = stringOf(id) ?? `call_${++count}_${name}`
      open.set(name, [...(open.get(name) ?? []), own])
      return own
    },
    answer(id: unknown, name: string): string {
      const [first, ...others] = open.get(name) ?? []
      open.set(name, others)
      return stringOf(id) ?? first ?? `call_${++count}_${name}`
    },
  }
}

function contentsAsChat(
  { messages }: Turn,
  dropped: Set<string>,
  ids: ReturnType<typeof createCallIds>,
): JsonObject[] {
  const chat: JsonObject[] = []
  for (const { role, parts } of messages) {
    const content: JsonObject[] = []
    const calls: JsonObject[] = []
    for (const part of objectsOf(parts)) {
      const { text, functionCall, functionResponse: answer, thoughtSignature: signature } = part
      if (signature !== undefined) dropped.add('thought signatures')
      const { id, name, args } = objectOf(functionCall)
      if (part['thought'] === true) dropped.add('thoughts')
      else if (typeof text === 'string') content.push({ type: 'text', text })
      else if (typeof name === 'string') {
        const callId = ids.call(id, name)
        calls.push({ id: callId, function: { name, arguments: JSON.stringify(args ?? {}) } })
      } else if (answer !== undefined) {
        const { id: of, name: called = '', response } = objectOf(answer)
        const callId = ids.answer(of, String(called))
        chat.push({ role: 'tool', tool_call_id: callId, content: JSON.stringify(response ?? {}) })
      } else {
        const medium = mediaOfPart(part)
        if (medium === undefined) dropped.add('what tools of the gateway did')
        else if (role === 'model') dropped.add('pictures in answers')
        else content.push(medium)
      }
    }
    if (content.length + calls.length > 0) chat.push(chatMessage(role === 'model', content, calls))
  }
  return chat
}

function itemsAsChat({ messages }: Turn, dropped: Set<string>): JsonObject[] {
  const chat: JsonObject[] = []
  for (const item of messages) {
    const { type, role, content, call_id: id, name, arguments: text, output } = item
    if (role !== undefined && (type === undefined || type === 'message')) {
      const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content)
      const kept = parts.flatMap((part) => chatPart(part, dropped))
      if (role === 'system' || role === 'developer') chat.push({ role: 'user', content: kept })
      else if (kept.length > 0) chat.push(chatMessage(role === 'assistant', kept, []))
    } else if (type === 'function_call') {
      const call = { id, function: { name, arguments: text } }
      const last = chat.at(-1)
      // Calls that are made together are one message.
      const joins = last !== undefined && last['role'] === 'assistant' && last['tool_calls'] !== undefined
      if (joins) chat[chat.length - 1] = { ...last, tool_calls: [...objectsOf(last['tool_calls']), call] }
      else chat.push(chatMessage(true, [], [call]))
    } else if (type === 'function_call_output') {
      chat.push({ role: 'tool', tool_call_id: id, content: stringOf(output) ?? JSON.stringify(output) })
    } else if (type === 'reasoning') dropped.add('encrypted reasoning')
    else dropped.add('what tools of the gateway did')
  }
  return chat
}

function chatPart(part: JsonObject, dropped: Set<string>): JsonObject[] {
  const { text, type, annotations } = part
  if (Array.isArray(annotations) && annotations.length > 0) dropped.add('citations')
  if (typeof text === 'string' && type !== 'reasoning_text') return [{ type: 'text', text }]
  const medium = mediaOfPart(part)
  if (medium === undefined) dropped.add(type === 'refusal' ? 'refusals' : 'files of the gateway')
  return medium === undefined ? [] : [medium]
}

/** Plain text where there is nothing else, which both styles write in the shortest form. */
function chatMessage(
  isAnswer: boolean,
  content: readonly JsonObject[],
  calls: readonly JsonObject[],
): JsonObject {
  const [first, ...others] = content
  const isText = others.length === 0 && typeof first?.['text'] === 'string'
  return {
    role: isAnswer ? 'assistant' : 'user',
    content: isText ? first['text'] : content,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
