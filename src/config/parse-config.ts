import { dangerousNames } from '../files/file-name.ts'
import { configError, quoted } from './problem.ts'
import { describeJsonError } from '../files/parse-json.ts'
import { isMapping } from './setting-kind.ts'

/** Against documents that are small on disk and large in memory. */
const mostAliases = 100
const mostNodes = 200_000

/**
 * Reads one YAML 1.2 document (core schema: no custom tags, no merge keys) as data that is safe to walk.
 * @param file named in the messages, as `file:line:column`
 * @throws UsageError
 */
export async function parseYaml(file: string, text: string): Promise<unknown> {
  const yaml = await import('js-yaml')
  const mapping = yaml.defineMappingTag<Record<string, unknown>>('tag:yaml.org,2002:map', {
    create: () => Object.create(null) as Record<string, unknown>,
    addPair(carrier, key, value) {
      if (typeof key === 'object') return 'a name must be plain text'
      const name = String(key)
      if (dangerousNames.has(name)) return `"${name}" is not allowed as a name`
      carrier[name] = value
      return ''
    },
    has: (carrier, key) => typeof key !== 'object' && Object.hasOwn(carrier, String(key)),
    keys: (carrier) => Object.keys(carrier),
    get: (carrier, key) => carrier[String(key)],
    identify: () => false,
  })
  try {
    const events = yaml.parseEvents(text, { maxDepth: deepest })
    if (events.length > mostNodes) throw configError(`${file}: more than ${mostNodes} YAML nodes.`)
    const schema = yaml.CORE_SCHEMA.withTags(mapping)
    const documents = yaml.constructFromEvents(events, { source: text, schema, maxAliases: mostAliases })
    if (documents.length > 1) throw configError(`${file}: more than one YAML document.`)
    return documents[0]
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error
    const { mark, reason } = error
    const place = mark === undefined ? file : `${file}:${mark.line + 1}:${mark.column + 1}`
    // Of what stands in the file only our own words may be repeated: an alias can be a key put in the wrong place.
    const problem = reason
      .replace(/^(unidentified alias|recursive alias) "[^]*"/, '$1')
      .replace(/ !<[^]*>/, '')
    throw configError(`${place}: not valid YAML: ${problem}.`)
  }
}

/** Deeper than any configuration, and far from what would exhaust the stack. */
const deepest = 64

/**
 * Reads JSON as data that is safe to walk.
 * @param file named in the messages, as `file:line:column`; no message repeats a value
 * @param part what of the document is ours; the rest is not looked at
 * @throws UsageError
 */
export function parseJson(file: string, text: string, part: (document: unknown) => unknown = whole): unknown {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    const { line, column, reason } = describeJsonError(text, error as SyntaxError)
    // Without the excerpt that the error has: it may be a key in the wrong place.
    throw configError(`${file}:${line}:${column}: not valid JSON: ${reason}.`)
  }
  checkShape(file, part(document))
  return document
}

function checkShape(file: string, root: unknown): void {
  const waiting = [{ value: root, depth: 1 }]
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    const { value, depth } = item
    if (typeof value !== 'object' || value === null) continue
    if (depth > deepest) throw configError(`${file}: nested more than ${deepest} levels deep.`)
    if (isMapping(value)) {
      const name = Object.keys(value).find((key) => dangerousNames.has(key))
      if (name !== undefined) throw configError(`${file}: ${quoted(name)} is not allowed as a name.`)
    }
    for (const inner of Object.values(value)) waiting.push({ value: inner, depth: depth + 1 })
  }
}

function whole(document: unknown): unknown {
  return document
}
