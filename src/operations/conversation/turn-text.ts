import { createHash } from 'node:crypto'
import { isObject, listOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { isOnly, mapTexts, plainMessage, separators, type Style, type Turn } from './turns.ts'

/** A file that a user attached, or an address. */
export type AttachedFile = {
  /** Absolute, or relative to the folder of the conversation file. */
  readonly file: string
  /** Its media type; without it and its digest it has yet to be read. */
  readonly type?: string
  readonly bytes?: number
  readonly sha256?: string
}
export type Attached = AttachedFile | { readonly url: string; readonly type?: string }

/** A turn as it is written: a text for a reader, and beside it what has to go back exactly. No text is there twice. */
export interface WrittenTurn {
  readonly user?: string
  readonly assistant?: string
  readonly attach?: readonly Attached[]
  readonly cut?: true
  /** Where the answer came from. */
  readonly from?: string
  /** The id of the stored response, and the digest of the conversation up to it. */
  readonly response?: string
  readonly seen?: string
  readonly exact?: Exact
}

interface Exact {
  /** Digest of the text that it belongs to. */
  readonly of: string
  /** The messages of one of the styles; a text in them is a start and an end in the text of the turn. */
  readonly items?: readonly JsonObject[]
  readonly contents?: readonly JsonObject[]
}

/** A short digest: it finds edits, and keeps nothing secret. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** @param before the turns before it, as they are written */
export function writeTurn(turn: Turn, before: readonly WrittenTurn[]): WrittenTurn {
  const { role, text, style, response, source, isCut } = turn
  const attach = role === 'user' ? attachedIn(turn) : undefined
  const isPlain =
    attach !== undefined || sameJson(turn.messages, text === '' ? [] : [plainMessage(style, role, text)])
  const own = {
    [role]: text,
    ...(attach === undefined || attach.length === 0 ? {} : { attach }),
    ...(isCut ? { cut: true as const } : {}),
    ...(source === undefined ? {} : { from: source }),
    ...(isPlain ? {} : { exact: exactOf(turn) }),
  }
  return response === undefined ? own : { ...own, response, seen: digestOf([...before, own]) }
}

function exactOf({ style, text, role, messages }: Turn): Exact {
  let at = 0
  const placed = mapTexts(messages, (part) => {
    const range = [at, at + part.length]
    at += part.length + separators[role].length
    return range
  })
  return { of: digest(text), [style === 'respond' ? 'items' : 'contents']: placed }
}

/** The digest of a conversation: of what was said, attached and kept exactly in it. */
function digestOf(turns: readonly WrittenTurn[]): string {
  return digest(
    JSON.stringify(
      turns.map(({ user, assistant, attach = [], exact }) => [
        user,
        assistant,
        attach.map((one) => ('url' in one ? one.url : one.sha256)),
        exact,
      ]),
    ),
  )
}

/** A turn that was read, and what of it no longer holds. */
export interface ReadTurn {
  readonly turn: Turn
  /** The fields that an edit has made invalid. */
  readonly invalid: readonly ('exact' | 'response')[]
}

/**
 * @param style of what was written without its own form
 * @param before the turns before it, as they are written
 */
export function readTurn(written: WrittenTurn, style: Style, before: readonly WrittenTurn[]): ReadTurn {
  const role = written.user === undefined ? 'assistant' : 'user'
  const text = written[role] ?? ''
  const { exact, response, seen, from, cut, attach = [] } = written
  const base = { role, text, source: from, ...(cut ? { isCut: true as const } : {}) } as const
  const isWhole = exact !== undefined && exact.of === digest(text)
  const isSeen = response !== undefined && seen === digestOf([...before, written])
  const invalid = [
    ...(exact !== undefined && !isWhole ? (['exact'] as const) : []),
    ...(response !== undefined && !isSeen ? (['response'] as const) : []),
  ]
  if (isWhole) {
    const own = exact.items === undefined ? 'generate' : 'respond'
    const messages = withTexts(exact.items ?? exact.contents ?? [], text)
    return { turn: { ...base, style: own, messages, response: isSeen ? response : undefined }, invalid }
  }
  const messages = role === 'user' ? userMessages(style, text, attach) : [plainMessage(style, role, text)]
  return { turn: { ...base, style, messages, response: isSeen ? response : undefined }, invalid }
}

/** Puts the texts back where only their places are. */
function withTexts(messages: readonly JsonObject[], text: string): JsonObject[] {
  const placed = (value: unknown) => {
    const [start, end] = listOf(value)
    return typeof start === 'number' && typeof end === 'number' ? text.slice(start, end) : value
  }
  const part = (value: unknown): unknown =>
    isObject(value) && Array.isArray(value['text']) ? { ...value, text: placed(value['text']) } : value
  return messages.map((message) => {
    const { content, parts } = message
    if (Array.isArray(parts)) return { ...message, parts: parts.map(part) }
    if (!Array.isArray(content)) return message
    const isText = content.length === 2 && content.every((value) => typeof value === 'number')
    return { ...message, content: isText ? placed(content) : content.map(part) }
  })
}

/** What a user says, with attachments before the text, as the commands send it. */
export function userMessages(style: Style, text: string, attach: readonly Attached[]): readonly JsonObject[] {
  if (attach.length === 0) return [plainMessage(style, 'user', text)]
  const media = attach.map((one) => (style === 'respond' ? inputPart(one) : contentPart(one)))
  if (style === 'generate') return [{ role: 'user', parts: text === '' ? media : [...media, { text }] }]
  return [{ role: 'user', content: text === '' ? media : [...media, { type: 'input_text', text }] }]
}

const isImage = (type: string | undefined) => type?.startsWith('image/') === true

function inputPart(one: Attached): JsonObject {
  if ('url' in one) {
    const { url } = one
    return isImage(one.type) ? { type: 'input_image', image_url: url } : { type: 'input_file', file_url: url }
  }
  const prefix = `data:${one.type};base64,`
  const data = { sha256: one.sha256, bytes: one.bytes, prefix, path: one.file }
  if (isImage(one.type)) return { type: 'input_image', image_url: data }
  return { type: 'input_file', filename: one.file.replace(/^.*[\\/]/, ''), file_data: data }
}

function contentPart(one: Attached): JsonObject {
  if ('url' in one) return { fileData: { ...(one.type && { mimeType: one.type }), fileUri: one.url } }
  const data = { sha256: one.sha256, bytes: one.bytes, path: one.file }
  return { inlineData: { mimeType: one.type, data } }
}

/** The attachments of a user's turn that is nothing but a text and attachments; undefined for any other. */
function attachedIn({ style, text, messages }: Turn): readonly Attached[] | undefined {
  const [message, ...others] = messages
  if (message === undefined || others.length > 0) return undefined
  const parts = listOf(style === 'respond' ? message['content'] : message['parts'])
  const attach = parts.flatMap((part) => {
    const one = isObject(part) ? attachedOf(part) : undefined
    return one === undefined ? [] : [one]
  })
  return sameJson(userMessages(style, text, attach), messages) ? attach : undefined
}

function attachedOf(part: JsonObject): Attached | undefined {
  const { image_url: image, file_data: data, file_url: url, inlineData, fileData } = part
  if (typeof image === 'string') return { url: image, type: 'image/*' }
  if (typeof url === 'string') return { url }
  const { fileUri, mimeType } = objectOf(fileData)
  if (typeof fileUri === 'string') return { url: fileUri, ...typed(mimeType) }
  const reference = objectOf(image ?? data ?? objectOf(inlineData)['data'])
  const { path, sha256, bytes, prefix } = reference
  if (typeof path !== 'string' || typeof sha256 !== 'string' || typeof bytes !== 'number') return undefined
  const [, ofPrefix] = /^data:(.*);base64,$/.exec(stringOf(prefix) ?? '') ?? []
  return { file: path, ...typed(ofPrefix ?? objectOf(inlineData)['mimeType']), bytes, sha256 }
}

function typed(type: unknown): { type?: string } {
  return typeof type === 'string' ? { type } : {}
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Whether an object is one of the forms of `exact`. */
export function isExact(value: unknown): value is Exact {
  if (!isObject(value) || typeof value['of'] !== 'string' || !isOnly(value, ['of', 'items', 'contents']))
    return false
  const { items, contents } = value
  const list = items ?? contents
  return (items === undefined) !== (contents === undefined) && Array.isArray(list) && list.every(isObject)
}
