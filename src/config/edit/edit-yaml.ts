import type * as yamlModule from 'yaml'
import type { Document, Node, Pair, ParsedNode, YAMLMap } from 'yaml'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../json.ts'
import { changedData, type Change } from './edit-json.ts'

type Yaml = typeof yamlModule
type Mapping = YAMLMap<ParsedNode, ParsedNode | null>
type Entry = Pair<ParsedNode, ParsedNode | null>

/**
 * A YAML text after a change. Only the lines of the setting change: comments, order, blank lines, quotes and indentation
 * of the rest stay as they are. What is removed takes the comment at the end of its line with it.
 *
 * @param text valid, one document
 * @returns undefined where a value cannot be changed without changing others (anchors and aliases)
 */
export async function editYaml(text: string, given: Change): Promise<string | undefined> {
  const yaml = await import('yaml')
  // More aliases than that, counted as they unfold, are an attack.
  const read = (source: string): unknown => yaml.parse(source, { maxAliasCount: 100 }) ?? {}
  // Data that was read as YAML has mappings without a prototype, which would be another value.
  const { path, value } = given
  const change: Change = { path, value: value === undefined ? undefined : JSON.parse(JSON.stringify(value)) }
  let expected: unknown
  try {
    const before = read(text)
    expected = changedData(before, change)
    if (isDeepStrictEqual(before, expected)) return text
  } catch {
    return undefined
  }
  for (const edit of [editLines, editDocument]) {
    try {
      const edited = edit(yaml, text, change)
      if (isDeepStrictEqual(read(edited), expected)) return edited
    } catch {
      // An alias that would lose its anchor, or a form of YAML whose lines cannot be told apart.
    }
  }
  return undefined
}

/** Writes the document anew: comments stay, but not all white space. */
function editDocument(yaml: Yaml, text: string, { path, value }: Change): string {
  const document = yaml.parseDocument(text)
  if (value === undefined) document.deleteIn(path)
  else document.setIn(path, value)
  return document.toString({ lineWidth: 0 })
}

/** @throws for a form of YAML in which a mapping is not one setting a line */
function editLines(yaml: Yaml, text: string, change: Change): string {
  const document = yaml.parseDocument<ParsedNode>(text, { keepSourceTokens: true })
  if (document.contents === null || isNothing(yaml, document.contents)) {
    return insertLines(text, text.length, blockText(yaml, nested(change.path, change.value), 0))
  }
  return editMapping(yaml, { text, document, change }, document.contents, 0)
}

interface Edit {
  readonly text: string
  readonly document: Document
  readonly change: Change
}

/**
 * @param depth how many keys of the path lead to the node
 * @param owner the last of them, with the node as its value
 */
function editMapping(yaml: Yaml, edit: Edit, node: ParsedNode | null, depth: number, owner?: Entry): string {
  const { text, change } = edit
  if (!yaml.isMap(node)) throw new Error('not a mapping')
  const mapping = node as Mapping
  if (mapping.flow) return editFlow(yaml, edit, mapping, depth)
  const [key, ...rest] = change.path.slice(depth)
  const entry = mapping.items.find((item) => yaml.isScalar(item.key) && String(item.key.value) === key)
  const column = columnOf(text, mapping.items[0]!.key.range[0])
  if (entry === undefined) {
    const at = endOf(yaml, text, mapping.items.at(-1)!)
    return insertLines(text, at, blockText(yaml, { [key!]: nested(rest, change.value) }, column))
  }
  const { value } = entry
  if (rest.length === 0) {
    return change.value === undefined
      ? removeEntry(yaml, text, mapping, entry, owner)
      : replaceValue(yaml, edit, entry, column)
  }
  const [start, end] = valueRange(yaml, entry)
  const hasNothing = isNothing(yaml, value) || /^\{\s*\}$/.test(text.slice(start, end))
  if (!hasNothing) return editMapping(yaml, edit, value, depth + 1, entry)
  const cleared = text.slice(0, start).trimEnd() + text.slice(end)
  return insertLines(
    cleared,
    text.slice(0, start).trimEnd().length,
    blockText(yaml, nested(rest, change.value), column + 2),
  )
}

/** A mapping in braces is written anew; a comment in it stays. */
function editFlow(yaml: Yaml, { text, change, document }: Edit, mapping: Mapping, depth: number): string {
  const path = change.path.slice(depth)
  if (change.value === undefined) mapping.deleteIn(path)
  else mapping.setIn(path, document.createNode(change.value))
  // What stands around it stays where it is.
  mapping.commentBefore = mapping.comment = null
  const [start] = mapping.range!
  return splice(
    text,
    mapping.range!,
    nodeText(yaml, mapping, columnOf(text, lineStart(text, start)), isPadded(text, start)),
  )
}

/** Whether there is a space within the brackets, as in `{ a: 1 }`. */
const isPadded = (text: string, start: number) => /^(?:\{\}|[[{]\s)/.test(text.slice(start, start + 2))

function removeEntry(yaml: Yaml, text: string, mapping: Mapping, entry: Entry, owner?: Entry): string {
  const [start] = entry.key.range
  const from = lineStart(text, start)
  if (text.slice(from, start).trim() !== '') throw new Error('not at the start of its line')
  const to = lineEnd(text, endOf(yaml, text, entry))
  const rest = text.slice(to)
  // A key without a value is no mapping; at the top of the file nothing is left, and that is allowed.
  if (mapping.items.length > 1 || owner === undefined) return text.slice(0, from) + rest
  const at = behindColon(owner)
  return `${text.slice(0, at)} {}${text.slice(at, from)}${rest}`
}

function replaceValue(yaml: Yaml, edit: Edit, entry: Entry, column: number): string {
  const { text, change, document } = edit
  const { path, value } = change
  const old = entry.value
  const isBlock = yaml.isCollection(old) && !old.flow
  if (isBlock && yaml.isMap(old) && isObject(value)) {
    const gone = old.items.map(({ key }) => String(key)).filter((key) => !Object.hasOwn(value, key))
    return [...Object.entries(value), ...gone.map((key) => [key, undefined] as const)].reduce(
      (edited, [key, inner]) => editLines(yaml, edited, { path: [...path, key], value: inner }),
      text,
    )
  }
  if (isBlock && yaml.isSeq(old) && Array.isArray(value)) {
    const edited = editList(yaml, edit, old.items as ParsedNode[], value)
    const at = behindColon(entry)
    return value.length > 0 ? edited : `${text.slice(0, at)} []${edited.slice(at)}`
  }
  if (isBlock) throw new Error('another kind of value')
  const node = document.createNode(value)
  const style = yaml.isScalar(old) ? old.type : undefined
  if (yaml.isScalar(node) && typeof value === 'string' && style?.startsWith('QUOTE_')) node.type = style
  const isFlow = yaml.isCollection(old) || (yaml.isCollection(node) && node.items.length === 0)
  if (yaml.isCollection(node) && isFlow) node.flow = true
  const [start, end] = valueRange(yaml, entry)
  if (yaml.isScalar(node) || isFlow) {
    const space = start === behindColon(entry) ? ' ' : ''
    // A literal block takes the line break after it along.
    const isLiteral = end > start && text[end - 1] === '\n'
    return splice(
      text,
      [start, end],
      `${space}${nodeText(yaml, node, column, isPadded(text, start))}${isLiteral ? '\n' : ''}`,
    )
  }
  const before = text.slice(0, start).trimEnd()
  const block = indented(nodeText(yaml, node, 0), column + 2)
  return insertLines(before + text.slice(end), before.length, block)
}

/** The lines of a list: those of items that stay in their order, with all that is between them, and new ones. */
function editList(yaml: Yaml, edit: Edit, items: readonly ParsedNode[], values: readonly unknown[]): string {
  const { text, document } = edit
  const column = text.slice(lineStart(text, items[0]!.range[0])).indexOf('-')
  const waiting = [...values]
  const pieces: string[] = []
  const addUntil = (end: number) => {
    for (const value of waiting.splice(0, end)) pieces.push(`${blockText(yaml, [value], column)}\n`)
  }
  let at = 0
  for (const [index, item] of items.entries()) {
    const start = lineStart(text, item.range[0])
    const end = lineEnd(text, lastEnd(yaml, item))
    if (!/^\s*-\s+\S/.test(text.slice(start, end))) throw new Error('not on a line of its own')
    pieces.push(text.slice(at, start))
    const place = waiting.findIndex((value) => isDeepStrictEqual(item.toJS(document), value))
    if (place !== -1) {
      addUntil(place)
      waiting.shift()
      pieces.push(text.slice(start, end).replace(/\n?$/, '\n'))
    }
    if (index === items.length - 1) addUntil(Infinity)
    at = end
  }
  return pieces.join('') + text.slice(at)
}

/** From the first character of the value to behind its last; empty, behind the colon, where there is none. */
function valueRange(yaml: Yaml, entry: Entry): readonly [start: number, end: number] {
  const { value } = entry
  if (value !== null && !isNothing(yaml, value)) {
    const [start, end] = value.range
    return [start, yaml.isCollection(value) && !value.flow ? lastEnd(yaml, value) : end]
  }
  const written = value === null ? undefined : value.range
  // `null` and `~` are written out, and go.
  if (written !== undefined && written[1] > written[0]) return [written[0], written[1]]
  const at = behindColon(entry)
  return [at, at]
}

function behindColon({ srcToken }: Entry): number {
  const colon = srcToken?.sep?.find(({ type }) => type === 'map-value-ind')
  if (colon === undefined) throw new Error('no colon')
  return colon.offset + 1
}

/** Behind the last character of a value that is on lines of its own, without the comments after it. */
function lastEnd(yaml: Yaml, node: ParsedNode): number {
  if (!yaml.isCollection(node) || node.flow) return node.range[1]
  const last = node.items.at(-1) as Entry | ParsedNode | undefined
  if (last === undefined) return node.range[1]
  return yaml.isPair(last) ? valueRange(yaml, last)[1] : lastEnd(yaml, last)
}

function endOf(yaml: Yaml, text: string, entry: Entry): number {
  const [, end] = valueRange(yaml, entry)
  return end > 0 && text[end - 1] === '\n' ? end - 1 : end
}

function isNothing(yaml: Yaml, node: ParsedNode | null): boolean {
  return node === null || (yaml.isScalar(node) && node.value === null)
}

/** The mapping that the rest of a path leads through. */
function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

function blockText(yaml: Yaml, value: unknown, column: number): string {
  return indented(nodeText(yaml, new yaml.Document(value).contents as Node, 0), column)
}

function nodeText(yaml: Yaml, node: Node, column: number, flowCollectionPadding = true): string {
  const part = new yaml.Document<Node>(null)
  part.contents = node as typeof part.contents
  const [first = '', ...lines] = part.toString({ lineWidth: 0, flowCollectionPadding }).trimEnd().split('\n')
  return [first, ...lines.map((line) => ' '.repeat(column) + line)].join('\n')
}

function indented(text: string, column: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(column))
}

/** Puts lines behind the line of a position. */
function insertLines(text: string, at: number, lines: string): string {
  const end = lineEnd(text, at)
  const before = text.slice(0, end)
  const isOpen = before !== '' && !before.endsWith('\n')
  return `${before}${isOpen ? '\n' : ''}${lines}${isOpen ? '' : '\n'}${text.slice(end)}`
}

function splice(text: string, [start, end]: readonly [number, number, ...number[]], part: string): string {
  return text.slice(0, start) + part + text.slice(end)
}

const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end + 1
}

/** How far a position is from the first character of its line that is no space; of a first key, its column. */
function columnOf(text: string, at: number): number {
  return at - lineStart(text, at)
}
