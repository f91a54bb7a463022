import type * as Yaml from 'js-yaml'
import { dangerousNames } from '../../json.ts'
import type { Mistakes } from './mistakes.ts'

/** A value of the manifest, with the place where it begins: in UTF-16 units of the text. */
export type YamlNode =
  | { readonly kind: 'scalar'; readonly at: number; readonly value: string | number | boolean | null }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly YamlNode[] }
  | { readonly kind: 'mapping'; readonly at: number; readonly entries: readonly YamlEntry[] }

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
    const schema = yaml.CORE_SCHEMA.withTags(pairsTag(yaml))
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
class Pairs {
  readonly list: (readonly [name: string, value: unknown])[] = []
}

function pairsTag(yaml: typeof Yaml) {
  return yaml.defineMappingTag<Pairs>('tag:yaml.org,2002:map', {
    create: () => new Pairs(),
    addPair(carrier, key, value) {
      if (typeof key === 'object' && key !== null) return 'a name must be plain text'
      carrier.list.push([String(key), value])
      return ''
    },
    has: () => false,
    keys: () => [],
    get: () => undefined,
    identify: () => false,
  })
}

interface Placed {
  readonly node: YamlNode
  /** How many values it has in it, counted again for each alias. */
  readonly size: number
}

function placeValues(
  yaml: typeof Yaml,
  events: readonly Yaml.Event[],
  root: unknown,
  mistakes: Mistakes,
): Placed {
  const { DOCUMENT, SEQUENCE, MAPPING, ALIAS } = yaml.EVENT_ID
  const anchored = new Map<unknown, Placed>()
  let next = 0
  let size = 0
  const take = () => {
    while (events[next]?.type === DOCUMENT) next++
    return events[next++]
  }
  const scalar = (at: number, value: unknown): YamlNode => {
    if (typeof value === 'string') mistakes.checkText(at, value)
    else if (typeof value === 'number' && !Number.isFinite(value)) {
      mistakes.report(at, 'The number has no finite value.')
    }
    return { kind: 'scalar', at, value: value as string | number | boolean | null }
  }
  const visit = (value: unknown): YamlNode => {
    const event = take()
    const before = size++
    if (event?.type === ALIAS) {
      const found = anchored.get(value)
      if (found === undefined) return scalar(event.anchorStart - 1, value)
      size = before + found.size
      return found.node
    }
    if (event?.type !== SEQUENCE && event?.type !== MAPPING) return scalar(startOf(event), value)
    const node: YamlNode =
      event.type === SEQUENCE
        ? { kind: 'list', at: event.start, items: (value as unknown[]).map(visit) }
        : { kind: 'mapping', at: event.start, entries: visitEntries(value as Pairs) }
    // The end of the collection.
    next++
    if (event.anchorStart >= 0) anchored.set(value, { node, size: size - before })
    return node
  }
  const visitEntries = ({ list }: Pairs): YamlEntry[] => {
    const names = new Set<string>()
    const entries: YamlEntry[] = []
    for (const [name, value] of list) {
      const at = startOf(take())
      mistakes.checkText(at, name)
      const node = visit(value)
      if (names.has(name)) mistakes.report(at, `${JSON.stringify(name)} appears twice.`)
      else if (dangerousNames.has(name))
        mistakes.report(at, `${JSON.stringify(name)} is not allowed as a name.`)
      else entries.push({ name, at, node })
      names.add(name)
    }
    return entries
  }
  return { node: visit(root), size }
}

function startOf(event: Yaml.Event | undefined): number {
  if (event === undefined || !('valueStart' in event)) return 0
  const isQuoted = event.style === 2 || event.style === 3
  return Math.max(0, event.valueStart - (isQuoted ? 1 : 0))
}

export function valueOf(node: YamlNode): unknown {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map(valueOf)
  return Object.fromEntries(node.entries.map(({ name, node: inner }) => [name, valueOf(inner)]))
}

/** The node that a path of names and numbers leads to; the last one on the way where it leads nowhere. */
export function nodeAt(node: YamlNode, path: readonly (string | number)[]): YamlNode {
  let found = node
  for (const step of path) {
    const inner: YamlNode | undefined =
      found.kind === 'list' ? found.items[Number(step)] : memberOf(found, String(step))?.node
    if (inner === undefined) return found
    found = inner
  }
  return found
}

export function memberOf(node: YamlNode, name: string): YamlEntry | undefined {
  return node.kind === 'mapping' ? node.entries.find((entry) => entry.name === name) : undefined
}
