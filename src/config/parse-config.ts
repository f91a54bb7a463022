import { ConfigError } from '../errors.ts'
import { describeJsonError } from '../files/parse-json.ts'
import { dangerousNames, isDeeperThan, isObject, objectOf } from '../json.ts'

/** The key of package.json that holds a project's settings. */
export const packageKey = 'modelgate'

export const packageSection = (document: unknown): unknown => objectOf(document)[packageKey]

/** JSON or YAML, as the name says, or where it has no extension the beginning. */
export async function parseText(file: string, text: string): Promise<unknown> {
  const section = /[\\/]package\.json$/.test(file) ? packageSection : undefined
  const isJson = file.endsWith('.json') || (file.endsWith('rc') && /^\s*\{\s*["}]/.test(text))
  const document = isJson ? parseJson(file, text, section) : await parseYaml(file, text)
  const settings = section === undefined ? document : section(document)
  // Cosmiconfig would read files anywhere on the disk.
  if (isObject(settings) && Object.hasOwn(settings, '$import')) {
    throw new ConfigError(`${file}: "$import" is not supported: a configuration file cannot include others.`)
  }
  return document
}

/** Limits for documents that are small on disk and large in memory. */
const maxAliases = 100
const maxNodes = 200_000
/** Deeper than any real configuration, and far below what would exhaust the stack. */
const maxDepth = 64

/** Reads one YAML 1.2 document (core schema: no custom tags, no merge keys) as data that is safe to walk. */
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
    const events = yaml.parseEvents(text, { maxDepth })
    if (events.length > maxNodes) throw new ConfigError(`${file}: more than ${maxNodes} YAML nodes.`)
    const schema = yaml.CORE_SCHEMA.withTags(mapping)
    const documents = yaml.constructFromEvents(events, { source: text, schema, maxAliases })
    if (documents.length > 1) throw new ConfigError(`${file}: more than one YAML document.`)
    return documents[0]
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error
    const { mark, reason } = error
    const location = mark === undefined ? file : `${file}:${mark.line + 1}:${mark.column + 1}`
    // Messages never quote the file: an alias may be a misplaced API key.
    const problem = reason
      .replace(/^(unidentified alias|recursive alias) "[^]*"/, '$1')
      .replace(/ !<[^]*>/, '')
    throw new ConfigError(`${location}: not valid YAML: ${problem}.`)
  }
}

/** Reads JSON as data that is safe to walk. @param part the part of the document that is ours; the rest is ignored */
export function parseJson(file: string, text: string, part = (document: unknown) => document): unknown {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    const { line, column, reason } = describeJsonError(text, error as SyntaxError)
    // Without the excerpt of the error: it may be a misplaced API key.
    throw new ConfigError(`${file}:${line}:${column}: not valid JSON: ${reason}.`)
  }
  const own = part(document)
  if (isDeeperThan(own, maxDepth)) throw new ConfigError(`${file}: nested more than ${maxDepth} levels deep.`)
  let dangerous: string | undefined
  JSON.stringify(own, (name, value: unknown) => {
    if (dangerousNames.has(name)) dangerous ??= name
    return value
  })
  if (dangerous === undefined) return document
  throw new ConfigError(`${file}: ${quoted(dangerous)} is not allowed as a name.`)
}

/** A name from a file, safe to print: quoted, shortened, with control and bidirectional characters escaped. */
export function quoted(name: string): string {
  const short = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
