import { checkBody, type Fields } from '../../contract/field.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import type { JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import type { InputFiles } from './input-files.ts'
import type { Instance } from './manifest.ts'
import type { Mistakes, Position } from './mistakes.ts'
import type { Scope } from './substitute.ts'
import { memberOf, nodeAt, valueOf, type YamlNode } from './yaml-nodes.ts'

export interface Reading {
  readonly files: InputFiles
  /** As `createSourceCheck` does. */
  readonly checkSources: (instance: Instance) => Promise<readonly string[]>
  readonly mistakes: Mistakes
  /** Where an offset of the manifest's text is, in UTF-16 units. */
  placeOf(at: number): Position
  /** Where a place in another file is that the manifest names, relative to its folder. */
  placeIn(path: string, line: number, column: number): Position
  /** What looks like a secret in a text, in words. */
  secretIn(text: string): string | undefined
  readonly variables: Omit<Scope, 'columns'>
  readonly families: ModelFamilies
}

/**
 * Holds a mapping against a table of fields, and reports what is wrong.
 * @param what it is, for the message about another kind of value
 * @param others names that are right besides those of the table
 * @returns the values that are right; a mapping without a table of its own is an empty object
 */
export function readShape(
  { mistakes, placeOf }: Reading,
  node: YamlNode,
  fields: Fields,
  { what, others = [] }: { readonly what: string; readonly others?: readonly string[] },
): JsonObject {
  const report = (at: number, message: string) => mistakes.add(placeOf(at), message)
  if (node.kind !== 'mapping') {
    report(node.at, `${what} must be a mapping.`)
    return {}
  }
  const names = [...Object.keys(fields), ...others]
  const isKnown = (name: string) => Object.hasOwn(fields, name)
  for (const { name, at } of node.entries) {
    if (!isKnown(name) && !others.includes(name)) report(at, unknownName(name, names, `of ${what}`))
  }
  const entries = node.entries.filter(({ name }) => isKnown(name))
  const value = Object.fromEntries(entries.map((entry) => [entry.name, shapeOf(fields, entry)]))
  const wrong = new Set<string>()
  for (const { path, kind, problem } of checkBody({ fields, rules: [] }, value)) {
    const steps = path.split('.')
    wrong.add(steps[0]!)
    const at = kind === 'required' && steps.length === 1 ? node.at : nodeAt(node, steps).at
    report(at, kind === 'required' ? `${path} is missing.` : `${path} ${problem}.`)
  }
  return Object.fromEntries(Object.entries(value).filter(([name]) => !wrong.has(name)))
}

/** The inside of a mapping is checked where it is read. */
function shapeOf(
  fields: Fields,
  { name, node }: { readonly name: string; readonly node: YamlNode },
): unknown {
  return fields[name]!.type === 'object' && node.kind === 'mapping' ? {} : valueOf(node)
}

/** The part of a mapping that has a table of its own, read by it; nothing where it is not there. */
export function readPart(reading: Reading, node: YamlNode, name: string, fields: Fields): JsonObject {
  const entry = memberOf(node, name)
  return entry?.node.kind === 'mapping' ? readShape(reading, entry.node, fields, { what: name }) : {}
}

/** More names than that are not listed in a message. */
const maxListed = 12

/** What is wrong with a name that nothing has, with the one that was most likely meant. */
export function unknownName(name: string, known: readonly string[], whose: string): string {
  const near = nearestName(name, known)
  const list = known.length > maxListed ? '.' : `. Known fields: ${known.join(', ')}.`
  const hint = near === undefined ? list : `; did you mean ${near}?`
  if (name === '<<') return 'Merge keys (<<) are not read; what jobs have in common goes into defaults.'
  return `${JSON.stringify(name)} is not a field ${whose}${hint}`
}
