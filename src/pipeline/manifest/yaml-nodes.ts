import type * as Yaml from 'js-yaml'
import { dangerousNames } from '../../json.ts'
import type { Mistakes } from './mistakes.ts'

/** A value of the manifest, with the place where it begins: in UTF-16 units of the text. */
export interface YamlNode {
  readonly kind: 'scalar' | 'list' | 'mapping'
  readonly at: number
  /** Of a scalar; undefined for a list or a mapping. */
  readonly value: string | number | boolean | null | undefined
  /** The members of a mapping, the items of a list by their numbers from 0. */
  readonly entries: readonly YamlEntry[]
  /** Whether `${` is anywhere in its texts: what it stands for may depend on the row. */
  readonly isTemplated: boolean
}

export interface YamlEntry {
  readonly name: string
  readonly at: number
  readonly node: YamlNode
}

/** Bounds for documents that are small on disk and large in memory. */
const maxDepth = 64
const maxAliases = 1000
const maxNodes = 1_000_000

/**
 * Reads one YAML 1.2 document (core schema: no tags of its own, no merge keys) with the place of each value. Names that
 * stand twice in a mapping are reported; the first is kept.
 * @throws UsageError `manifest_invalid` for a text that is not YAML
 */
export async function parseManifest(text: string, mistakes: Mistakes): Promise<YamlNode> {
  const yaml = await import('js-yaml')
  try {
    const events = yaml.parseEvents(text, { maxDepth })
    if (events.length > maxNodes) return mistakes.fail(0, tooLarge)
    const schema = yaml.CORE_SCHEMA.withTags(mappingTag(yaml))
    const documents = yaml.constructFromEvents(events, { source: text, schema, maxAliases })
    if (documents.length > 1) return mistakes.fail(0, 'The file has more than one YAML document.')
    const { node, size } = placeValues(yaml, events, documents[0] ?? null, mistakes)
    return size > maxNodes ? mistakes.fail(0, tooLarge) : node
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error
    // An alias may be a misplaced key, so it is not quoted.
    const reason = error.reason
      .replace(/^(unidentified alias|recursive alias) "[^]*"/, '$1')
      .replace(/ !<[^]*>/, '')
    return mistakes.fail(error.mark?.position ?? 0, `This is not valid YAML: ${reason}.`)
  }
}

const tooLarge = `There are more than ${maxNodes} values in the file, with those that aliases repeat.`

/** Members of a mapping in the order of the text, also those with the same name. */
type Pairs = [name: string, value: unknown][]

function mappingTag(yaml: typeof Yaml) {
  return yaml.defineMappingTag<Pairs>('tag:yaml.org,2002:map', {
    create: () => [],
    addPair(pairs, key, value) {
      if (typeof key === 'object' && key !== null) return 'a name must be plain text'
      pairs.push([String(key), value])
      return ''
    },
    has: () => false,
    keys: () => [],
    get: () => undefined,
    identify: () => false,
  })
}

function placeValues(yaml: typeof Yaml, events: readonly Yaml.Event[], root: unknown, mistakes: Mistakes) {
  const { DOCUMENT, SEQUENCE, MAPPING, ALIAS } = yaml.EVENT_ID
  const anchored = new Map<unknown, { readonly node: YamlNode; readonly size: number }>()
  let next = 0
  /** How many values there are, counted again for each alias. */
  let size = 0
  const take = () => {
    while (events[next]?.type === DOCUMENT) next++
    return events[next++]
  }
  const visit = (value: unknown): YamlNode => {
    const event = take()
    const before = size++
    const known = event?.type === ALIAS ? anchored.get(value) : undefined
    if (known !== undefined) {
      size = before + known.size
      return known.node
    }
    if (event?.type !== SEQUENCE && event?.type !== MAPPING) {
      const at = event?.type === ALIAS ? event.anchorStart - 1 : startOf(event)
      if (typeof value === 'string') mistakes.checkText(at, value)
      else if (typeof value === 'number' && !Number.isFinite(value)) {
        mistakes.report(at, 'The number has no finite value.')
      }
      const isTemplated = typeof value === 'string' && value.includes('${')
      return { kind: 'scalar', at, value: value as string, entries: none, isTemplated }
    }
    const entries = event.type === SEQUENCE ? itemsOf(value as unknown[]) : membersOf(value as Pairs)
    // The end of the collection.
    next++
    const node: YamlNode = {
      kind: event.type === SEQUENCE ? 'list' : 'mapping',
      at: event.start,
      value: undefined,
      entries,
      isTemplated: entries.some((entry) => entry.node.isTemplated),
    }
    if (event.anchorStart >= 0) anchored.set(value, { node, size: size - before })
    return node
  }
  const itemsOf = (items: readonly unknown[]): YamlEntry[] =>
    items.map((item, at) => {
      const node = visit(item)
      return { name: `${at}`, at: node.at, node }
    })
  const membersOf = (pairs: Pairs): YamlEntry[] => {
    const names = new Set<string>()
    return pairs.flatMap(([name, value]) => {
      const at = startOf(take())
      mistakes.checkText(at, name)
      const node = visit(value)
      const isTwice = names.has(name)
      names.add(name)
      if (!isTwice && !dangerousNames.has(name)) return { name, at, node }
      const problem = isTwice ? 'appears twice' : 'is not allowed as a name'
      return mistakes.report(at, `${JSON.stringify(name)} ${problem}.`) ?? []
    })
  }
  return { node: visit(root), size }
}

const none: readonly YamlEntry[] = []

function startOf(event: Yaml.Event | undefined): number {
  if (event === undefined || !('valueStart' in event)) return 0
  const isQuoted = event.style === 2 || event.style === 3
  return Math.max(0, event.valueStart - (isQuoted ? 1 : 0))
}

export function valueOf({ kind, value, entries }: YamlNode): unknown {
  if (kind === 'scalar') return value
  if (kind === 'list') return entries.map(({ node }) => valueOf(node))
  return Object.fromEntries(entries.map(({ name, node }) => [name, valueOf(node)]))
}

/** The node that a path of names leads to; the last one on the way where it leads nowhere. */
export function nodeAt(node: YamlNode, path: readonly string[]): YamlNode {
  let found = node
  for (const step of path) {
    const inner = memberOf(found, step)?.node
    if (inner === undefined) return found
    found = inner
  }
  return found
}

/** The members of a mapping in another one; none where it is something else. */
export function entriesOf(node: YamlNode, name: string): readonly YamlEntry[] {
  const part = memberOf(node, name)?.node
  return part?.kind === 'mapping' ? part.entries : []
}

export function memberOf({ entries }: YamlNode, name: string): YamlEntry | undefined {
  return entries.find((entry) => entry.name === name)
}
