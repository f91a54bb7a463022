import { isDeepStrictEqual } from 'node:util'
import { changedData, type Change } from './edit-json.ts'

/**
 * A YAML text after a change. Comments, order and quotes of the rest stay; white space, and comments within a list that
 * is changed, may not.
 * @param text valid, one document
 * @returns undefined where a value cannot be changed without changing others (anchors and aliases)
 */
export async function editYaml(text: string, given: Change): Promise<string | undefined> {
  const { isCollection, parse, parseDocument } = await import('yaml')
  // More aliases than that, counted as they unfold, are an attack.
  const read = (source: string): unknown => parse(source, { maxAliasCount: 100 }) ?? {}
  // Data that was read as YAML has mappings without a prototype, which would be another value.
  const { path, value } = given
  const change: Change = { path, value: value === undefined ? undefined : JSON.parse(JSON.stringify(value)) }
  try {
    const before = read(text)
    const expected = changedData(before, change)
    if (isDeepStrictEqual(before, expected)) return text
    // Not `{}`, which would make a JSON file of it.
    if (isDeepStrictEqual(expected, {})) return /^(?:[ \t]*#.*\n|\s*\n)*/.exec(text)![0]
    const document = parseDocument(text)
    // A key without a value gets a mapping.
    const empty = path.findIndex((_, at) => document.getIn(path.slice(0, at + 1)) == null)
    const [within, rest] = empty === -1 ? [path, []] : [path.slice(0, empty + 1), path.slice(empty + 1)]
    const nested = rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), change.value)
    const old = document.getIn(path, true)
    const node = document.createNode(nested)
    if (isCollection(old) && isCollection(node) && old.flow) node.flow = true
    if (change.value === undefined) document.deleteIn(path)
    else document.setIn(within, isCollection(node) ? node : nested)
    const edited = document.toString({ lineWidth: 0 })
    return isDeepStrictEqual(read(edited), expected) ? edited : undefined
  } catch {
    // An alias that would lose its anchor.
    return undefined
  }
}
