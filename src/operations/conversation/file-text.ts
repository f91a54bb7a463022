import { createHash } from 'node:crypto'
import { Document, isNode, Lexer, LineCounter, parseDocument, Scalar, visit } from 'yaml'
import { UsageError } from '../../errors.ts'
import { isDeeperThan, isObject, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import type { Conversation, Style } from './conversation.ts'

/** Incremented when the meaning of a field changes. Version 1, of modelgate 0.1.0, had turns. */
const version = 2

const fields = ['version', 'style', 'gateway', 'model', 'system', 'settings', 'messages', 'response']

/** A text that is small and means much is none of ours. */
const maxAliasCount = 20

/** Deeper than any request. */
const maxDepth = 128

/** A parsed token takes hundreds of bytes: these are thousands of turns. A text has no more tokens than characters. */
const maxTokens = 1_000_000

/** The text of a conversation file. */
export function formatConversation(conversation: Conversation, isJson: boolean): string {
  const { style, gateway, model, system, settings, messages, response } = conversation
  const file = {
    version,
    style,
    gateway,
    model,
    system,
    settings: Object.keys(settings).length === 0 ? undefined : settings,
    messages,
    response: response && {
      id: response.id,
      messages: response.count,
      digest: digestOf(gateway, messages.slice(0, response.count)),
    },
  }
  const json = JSON.stringify(file, null, 2)
  if (isJson) return `${json}\n`
  const document = new Document(JSON.parse(json))
  visit(document, { Scalar: (place, node) => setStyle(node, place === 'key') })
  return document.toString({ lineWidth: 0 })
}

/** What no YAML changes when it stands in a block: no ends of lines but \n, no control characters, no halves of characters. */
const printable = /^(?:[\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]|[\ud800-\udbff][\udc00-\udfff])*$/

/** Longer texts are blocks that are read as they stand; what YAML does not keep as it is has to be escaped. */
function setStyle(node: Scalar, isKey: boolean): void {
  const { value } = node
  if (typeof value !== 'string') return
  const isProse = value.includes('\n') || (value.length > 60 && value.includes(' '))
  if (!printable.test(value)) node.type = Scalar.QUOTE_DOUBLE
  else if (isProse && value.trim() !== '' && !isKey) node.type = Scalar.BLOCK_LITERAL
}

/** Of the messages that a response stands for, and of where it is kept: it finds edits, and keeps nothing secret. */
function digestOf(gateway: string | undefined, messages: readonly JsonObject[]): string {
  const text = JSON.stringify([gateway, ...messages])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/**
 * Reads the text of a conversation file: YAML, of which JSON is a part.
 * @param file its name, for messages
 * @param usual the style of one that says none
 * @throws UsageError `invalid_conversation`, with line and column
 */
export function readConversation(file: string, text: string, usual: Style): Conversation {
  if (text.length > maxTokens) checkSize(file, text)
  const lineCounter = new LineCounter()
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    schema: 'core',
    logLevel: 'error',
  })
  const invalid = (offset: number | undefined, reason: string) => {
    const { line, col } = lineCounter.linePos(offset ?? 0)
    const place = offset === undefined ? file : `${file}:${line}:${col}`
    return new UsageError(`${place}: ${reason}.`, { code: 'invalid_conversation' })
  }
  const problem = (path: readonly (string | number)[], reason: string) => {
    const node = document.getIn(path, true)
    return invalid((isNode(node) ? node : document.contents)?.range?.[0], reason)
  }
  const [error] = document.errors
  if (error !== undefined) {
    // The rest of a message may quote the file.
    const reason = (error.message.split('\n')[0] ?? '').slice(0, 200)
    throw invalid(error.pos[0], reason.includes('call stack') ? tooDeep : `not valid YAML: ${reason}`)
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount })
  } catch {
    throw invalid(undefined, 'it has too many aliases, or one that leads nowhere')
  }
  if (isDeeperThan(value, maxDepth)) throw invalid(undefined, tooDeep)
  if (!isObject(value)) throw problem([], 'a conversation is an object with a list of "messages"')
  const { style = usual, gateway, model, system, settings = {}, messages, response } = value
  if (value['turns'] !== undefined) throw problem(['turns'], oldForm(style))
  const unknown = Object.keys(value).find((name) => !fields.includes(name))
  if (unknown !== undefined) {
    const near = nearestName(unknown, fields)
    const other = near === undefined ? `known are ${fields.join(', ')}` : `did you mean "${near}"?`
    throw problem([unknown], `"${unknown.slice(0, 40)}" is not known here (${other})`)
  }
  if ((value['version'] ?? version) !== version)
    throw problem(['version'], `only version ${version} is known here`)
  if (style !== 'generate' && style !== 'respond') throw problem(['style'], '"style" is generate or respond')
  for (const name of ['gateway', 'model', 'system']) {
    if (value[name] !== undefined && typeof value[name] !== 'string')
      throw problem([name], `"${name}" has to be a text`)
  }
  if (!isObject(settings)) throw problem(['settings'], '"settings" is an object')
  if (!Array.isArray(messages)) throw problem(['messages'], '"messages" has to be a list')
  const odd = messages.findIndex((message) => !isMessage(style, message))
  if (odd !== -1) throw problem(['messages', odd], `a message is an object: ${written[style]}`)
  return {
    style,
    gateway: stringOf(gateway),
    model: stringOf(model),
    system: stringOf(system) || undefined,
    settings,
    messages: messages as JsonObject[],
    response: keptResponse(stringOf(gateway), messages as JsonObject[], objectOf(response)),
  }
}

/** Only so far as a mistake of hand is likely: the rest is the contract's. A number needs quotes to be a text. */
function isMessage(style: Style, message: unknown): boolean {
  const { parts, content } = objectOf(message)
  if (style === 'generate') return Array.isArray(parts)
  return isObject(message) && typeof content !== 'number' && typeof content !== 'boolean'
}

/** What the gateway has kept, unless an edit has made another conversation of it. */
function keptResponse(
  gateway: string | undefined,
  messages: readonly JsonObject[],
  { id, messages: count, digest }: JsonObject,
): Conversation['response'] {
  if (typeof id !== 'string' || typeof count !== 'number' || count > messages.length) return undefined
  return digest === digestOf(gateway, messages.slice(0, count)) ? { id, count } : undefined
}

const tooDeep = `nested more than ${maxDepth} levels deep`

/** A message as it is written by hand. */
const written = {
  respond: '{role: user, content: TEXT}, of the model {role: assistant, content: TEXT}',
  generate: '{role: user, parts: [{text: TEXT}]}, of the model {role: model, parts: [{text: TEXT}]}',
} as const

function oldForm(style: unknown): string {
  const form = written[style === 'generate' ? style : 'respond']
  return `"turns" is the form of modelgate 0.1.0, which reads it; a conversation has "messages" now, each of them ${form}`
}

/** Before it is parsed, which takes much more memory. */
function checkSize(file: string, text: string): void {
  let count = 0
  for (const _ of new Lexer().lex(text)) {
    if (++count > maxTokens)
      throw new UsageError(`${file}: more than a conversation can have.`, { code: 'invalid_conversation' })
  }
}
