import {
  Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  Scalar,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { UsageError } from '../../errors.ts'
import { isDeeperThan, isObject, type JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { readTurn, writeTurn, isExact, type Attached, type WrittenTurn } from './turn-text.ts'
import type { Conversation, Style, Turn } from './turns.ts'

export interface ConversationText {
  readonly conversation: Conversation
  /** What an edit has made invalid, in words. */
  readonly notes: readonly string[]
  /** The attachments of the turns that name any. */
  readonly attached: ReadonlyMap<Turn, readonly Attached[]>
  /** The text of the file with another conversation in it. Comments stay, and so do turns that are in both. */
  update(conversation: Conversation): string
}

const fields = ['version', 'style', 'model', 'system', 'settings', 'turns'] as const
const turnFields = ['user', 'assistant', 'attach', 'cut', 'from', 'response', 'seen', 'exact'] as const
const attachFields = ['file', 'url', 'type', 'bytes', 'sha256'] as const

/** A text that is small and means much is none of ours. */
const maxAliasCount = 20

/** Deeper than any request. */
const maxDepth = 128

/** A parsed token takes hundreds of bytes: these are thousands of turns. A text has no more tokens than characters. */
const maxTokens = 1_000_000

const introduction = ` A conversation of modelgate. Texts may be edited, turns removed, and the file copied to branch it.
 "exact" holds what has to go back to the model as it came; it is left out once its text is another.`

/** A conversation that has no file yet. */
export function newConversationText(isJson: boolean): ConversationText {
  const document = new Document({ version: 1, turns: [] })
  document.commentBefore = introduction
  const conversation: Conversation = {
    style: 'respond',
    model: undefined,
    system: undefined,
    settings: {},
    turns: [],
  }
  return { conversation, notes: [], attached: new Map(), update: updater(document, new Map(), isJson) }
}

/**
 * Reads the text of a conversation file: YAML, of which JSON is a part.
 * @param file its name, for messages
 * @param style of one that says none
 * @throws UsageError `invalid_conversation`, with line and column
 */
export function readConversationText(
  file: string,
  text: string,
  { style: usual, isJson }: { readonly style: Style; readonly isJson: boolean },
): ConversationText {
  if (text.length > maxTokens) checkSize(file, text)
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    merge: false,
    logLevel: 'error',
  })
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  const [error] = document.errors
  if (error !== undefined) {
    // The rest of a message may quote the file.
    const [reason] = error.message.split('\n')
    if (reason?.includes('call stack')) throw tooDeep(at(error.pos[0]))
    throw invalid(`${at(error.pos[0])}: not valid YAML: ${(reason ?? '').slice(0, 200)}.`)
  }
  const check = createCheck(file, at)
  const root = document.contents
  if (!isMap(root)) throw check.problem(root, 'a conversation is an object with a list of "turns"')
  check.names(root, fields)
  moveComment(document, root)
  const whole = valueOf(file, document)
  const { version = 1, style = usual, model, system, settings = {} } = whole
  if (version !== 1) throw check.problem(root.get('version', true), 'only version 1 is known here')
  if (style !== 'generate' && style !== 'respond')
    throw check.problem(root.get('style', true), '"style" is generate or respond')
  check.text(root, whole, 'model')
  check.text(root, whole, 'system')
  if (!isObject(settings)) throw check.problem(root.get('settings', true), '"settings" is an object')
  const list = root.get('turns', true)
  if (!isSeq(list)) throw check.problem(list ?? root, '"turns" has to be a list')

  const nodes = new Map<Turn, Node>()
  const attached = new Map<Turn, readonly Attached[]>()
  const written: WrittenTurn[] = []
  const notes: string[] = []
  const turns = list.items.map((node, index) => {
    const read = check.turn(node)
    const { turn, invalid: gone } = readTurn(read, style, written)
    written.push(read)
    nodes.set(turn, node as Node)
    if (read.attach !== undefined) attached.set(turn, read.attach)
    if (gone.includes('exact')) notes.push(editNote(index, read))
    for (const name of gone) {
      if (isMap(node)) node.delete(name)
      if (isMap(node) && name === 'response') node.delete('seen')
    }
    return turn
  })
  const conversation: Conversation = {
    style,
    model: model as string | undefined,
    system: (system as string | undefined) || undefined,
    settings,
    turns,
  }
  return { conversation, notes, attached, update: updater(document, nodes, isJson) }
}

function editNote(index: number, { exact }: WrittenTurn): string {
  const text = JSON.stringify(exact)
  const kept = [
    ...(text.includes('"thoughtSignature"') ? ['its thought signatures'] : []),
    ...(text.includes('"encrypted_content"') ? ['its encrypted reasoning'] : []),
    ...(/"(?:functionCall|function_call|custom_tool_call)"/.test(text) ? ['its calls of tools'] : []),
  ]
  const what = kept.length === 0 ? 'what the gateway said beside its text' : kept.join(' and ')
  return `Turn ${index + 1} was edited, so ${what} will not go back.`
}

function invalid(message: string): UsageError {
  return new UsageError(message, { code: 'invalid_conversation' })
}

function tooDeep(place: string): UsageError {
  return invalid(`${place}: nested more than ${maxDepth} levels deep.`)
}

/** Before it is parsed, which takes much more memory. */
function checkSize(file: string, text: string): void {
  let count = 0
  for (const _ of new Lexer().lex(text)) {
    if (++count > maxTokens) throw invalid(`${file}: more than a conversation can have.`)
  }
}

function valueOf(file: string, document: Document.Parsed): JsonObject {
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount })
  } catch {
    throw invalid(`${file}: it has too many aliases, or one that leads nowhere.`)
  }
  if (isDeeperThan(value, maxDepth)) throw tooDeep(file)
  return value as JsonObject
}

/** Checks the nodes of a document; problems are told with their place. */
function createCheck(file: string, at: (offset: number) => string) {
  const problem = (node: unknown, message: string) => {
    const offset = isNode(node) ? node.range?.[0] : undefined
    return invalid(`${offset === undefined ? file : at(offset)}: ${message}.`)
  }
  const names = (map: YAMLMap, known: readonly string[]) => {
    for (const { key } of map.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (known.includes(name)) continue
      const near = nearestName(name, [...known])
      const other = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`
      throw problem(key, `"${name.slice(0, 40)}" is not known here (${other})`)
    }
  }
  /** A number or a word like `yes` is a text as it stands. */
  const textOf = (node: unknown, name: string): string => {
    if (!isScalar(node)) throw problem(node, `"${name}" has to be a text`)
    if (typeof node.value === 'string') return node.value
    return node.value === null ? '' : (node.source ?? String(node.value))
  }
  const text = (map: YAMLMap, whole: JsonObject, name: string) => {
    const node = map.get(name, true)
    if (node !== undefined && typeof whole[name] !== 'string')
      throw problem(node, `"${name}" has to be a text`)
  }
  const attached = (node: unknown): Attached => {
    if (isScalar(node)) return { file: textOf(node, 'attach') }
    if (!isMap(node)) throw problem(node, '"attach" is a list of files')
    names(node, attachFields)
    const value = node.toJSON() as JsonObject
    const { file: path, url, bytes } = value
    if ((typeof path === 'string') === (typeof url === 'string'))
      throw problem(node, 'an attachment has either a "file" or a "url"')
    for (const name of ['type', 'sha256']) text(node, value, name)
    if (bytes !== undefined && typeof bytes !== 'number') throw problem(node, '"bytes" has to be a number')
    return value as unknown as Attached
  }
  const turn = (node: unknown): WrittenTurn => {
    if (!isMap(node)) throw problem(node, 'a turn is an object with a "user" or an "assistant"')
    names(node, turnFields)
    if (node.has('user') === node.has('assistant'))
      throw problem(node, 'a turn has either a "user" or an "assistant"')
    const role = node.has('user') ? 'user' : 'assistant'
    const list = node.get('attach', true)
    if (list !== undefined && (!isSeq(list) || role !== 'user'))
      throw problem(list, '"attach" is a list of files that a user attached')
    const value = node.toJSON() as JsonObject
    for (const name of ['from', 'response', 'seen']) text(node, value, name)
    const { cut, exact, from, response, seen } = value
    if (cut !== undefined && cut !== true && cut !== false)
      throw problem(node.get('cut', true), '"cut" is true or false')
    if (exact !== undefined && !isExact(exact))
      throw problem(node.get('exact', true), '"exact" is not as modelgate writes it; remove it')
    return {
      [role]: textOf(node.get(role, true), role),
      ...(isSeq(list) && { attach: list.items.map(attached) }),
      ...(cut === true && { cut }),
      ...(from !== undefined && { from: from as string }),
      ...(exact !== undefined && { exact }),
      ...(response !== undefined && { response: response as string, seen: seen as string }),
    }
  }
  return { problem, names, text, turn }
}

/** A comment at the very top is one of the file, and not of the field that happens to be the first. */
function moveComment(document: Document.Parsed, { items: [first] }: YAMLMap): void {
  const key = first?.key
  if (!isScalar(key) || !key.commentBefore || document.commentBefore) return
  document.commentBefore = key.commentBefore
  key.commentBefore = null
}

/** Writes conversations into a document. @param nodes those of the turns that are in it already */
function updater(document: Document, nodes: ReadonlyMap<Turn, Node>, isJson: boolean) {
  return ({ style, model, system, settings, turns }: Conversation): string => {
    const set = (name: string, value: unknown, isFlow = false) => {
      if (value === undefined) return void root.delete(name)
      if (JSON.stringify(document.toJS({ maxAliasCount })[name]) === JSON.stringify(value)) return
      const node = nodeOf(document, value, isFlow)
      if (root.has(name)) return root.set(name, node)
      // The turns stay at the end.
      const at = root.items.findIndex(({ key }) => isScalar(key) && key.value === 'turns')
      root.items.splice(at, 0, document.createPair(name, node))
    }
    const root = document.contents as YAMLMap
    const list = document.get('turns', true) as YAMLSeq
    set('style', style)
    set('model', model)
    set('system', system)
    set('settings', Object.keys(settings).length === 0 ? undefined : settings, true)
    const written: WrittenTurn[] = []
    list.items = turns.map((turn) => {
      const next = writeTurn(turn, written)
      written.push(next)
      return nodes.get(turn) ?? turnNode(document, next)
    })
    list.flow = false
    if (isJson) return `${JSON.stringify(document.toJS({ maxAliasCount }), null, 2)}\n`
    return document.toString({ lineWidth: 0, flowCollectionPadding: false })
  }
}

function turnNode(document: Document, turn: WrittenTurn): Node {
  const map = document.createNode({}) as YAMLMap
  for (const [name, value] of Object.entries(turn)) map.set(name, nodeOf(document, value, name === 'exact'))
  return map
}

/** Text is a block that is read as it stands, where YAML can say it in one. */
function nodeOf(document: Document, value: unknown, isFlow: boolean): Node {
  const node = document.createNode(value) as Node
  if (isScalar(node) && typeof node.value === 'string') {
    node.type = canBeBlock(node.value) ? Scalar.BLOCK_LITERAL : textStyle(node.value)
  } else if (isFlow && (isMap(node) || isSeq(node))) node.flow = true
  return node
}

const isShort = (text: string) => /^[\w.:/-]{1,80}$/.test(text)
const textStyle = (text: string) => (isShort(text) ? Scalar.PLAIN : Scalar.QUOTE_DOUBLE)

function canBeBlock(text: string): boolean {
  // Line ends other than \n, control characters and halves of characters have to be escaped.
  return (
    text.trim() !== '' &&
    !isShort(text) &&
    !/[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/.test(
      text.replaceAll(/[\ud800-\udbff][\udc00-\udfff]/g, ''),
    )
  )
}
