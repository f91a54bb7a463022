import { isDeepStrictEqual } from 'node:util'
import type { Node, YAMLMap } from 'yaml'
import { changedData, type Change } from './edit-json.ts'

/**
 * A YAML text after a change. Comments, order and quotes of the rest stay; white space, and comments within a list that
 * is changed, may not. A comment indented under a setting belongs to it.
 * @param text valid, one document
 * @returns undefined where a value cannot be changed without changing others (anchors and aliases)
 */
export async function editYaml(text: string, given: Change): Promise<string | undefined> {
  const { isCollection, isScalar, parse, parseDocument } = await import('yaml')
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
    if (isDeepStrictEqual(expected, {})) return text.match(/^\s*#.*\n?/gm)?.join('') ?? ''
    const document = parseDocument(text)
    // A key without a value gets a mapping.
    const empty = path.findIndex((_, at) => document.getIn(path.slice(0, at + 1)) == null)
    const [within, rest] = empty === -1 ? [path, []] : [path.slice(0, empty + 1), path.slice(empty + 1)]
    const nested = rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), change.value)
    const old = document.getIn(path, true)
    const node = document.createNode(nested)
    if (isCollection(old) && isCollection(node) && old.flow) node.flow = true
    if (change.value === undefined) {
      const parent = (document.getIn(path.slice(0, -1), true) ?? document.contents) as YAMLMap<Node>
      const at = parent.items.findIndex((item) => item.value === old)
      const above = parent.items[at]?.key.commentBefore
      document.deleteIn(path)
      // The comment above stays: above the first setting it is that of the file.
      const after = parent.items[at]?.key ?? parent
      const place = after === parent ? 'comment' : 'commentBefore'
      after[place] = [above, after[place]].filter((note) => note != null).join('\n')
    } else {
      const replaced = document.getIn(within, true)
      if (isCollection(node) && isScalar(replaced)) node.comment = replaced.comment ?? null
      document.setIn(within, isCollection(node) ? node : nested)
    }
    const edited = document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] /.test(text) })
    return isDeepStrictEqual(read(edited), expected) ? edited : undefined
  } catch {
    // An alias that would lose its anchor.
    return undefined
  }
}
