import type { CosmiconfigResult, Options } from 'cosmiconfig'
import { ConfigError, ModelgateError } from '../errors.ts'
import { describeJsonError } from '../files/parse-json.ts'
import { dangerousNames, isDeeperThan, isObject } from '../json.ts'

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
  const name = dangerousNameIn(own)
  if (name !== undefined) throw new ConfigError(`${file}: ${quoted(name)} is not allowed as a name.`)
  return document
}

function dangerousNameIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const own = isObject(value) ? Object.keys(value).find((key) => dangerousNames.has(key)) : undefined
  if (own !== undefined) return own
  for (const inner of Object.values(value)) {
    const name = dangerousNameIn(inner)
    if (name !== undefined) return name
  }
  return undefined
}

export interface FoundFile {
  readonly path: string
  readonly text: string
  readonly content: unknown
  /** The folder that was searched; relative paths in the file start here. */
  readonly folder: string
}

/** The key of package.json that holds a project's settings. */
export const packageKey = 'modelgate'

type ExplorerClass = new (
  options: Options & { readonly metaConfigFilePath: null; readonly moduleName: string },
) => {
  load(path: string): Promise<CosmiconfigResult>
}

/**
 * Reads a file as data, unless it is empty. The public functions of cosmiconfig first look for a "meta configuration" in
 * the working directory and run a `.config/config.js` found there, whatever the options. Its Explorer class does not.
 * @throws ConfigError naming file, line and column when it is not valid JSON or YAML
 */
export async function readConfigFile(folder: string, path: string): Promise<FoundFile | undefined> {
  const module: unknown = await import('cosmiconfig/dist/Explorer.js')
  const { Explorer } = module as { Explorer: ExplorerClass }
  let text = ''
  const loader = (file: string, content: string) => {
    text = content.replace(/^\uFEFF/, '')
    return parseText(file, text)
  }
  const explorer = new Explorer({
    moduleName: packageKey,
    packageProp: packageKey,
    searchPlaces: [],
    searchStrategy: 'none',
    ignoreEmptySearchPlaces: true,
    metaConfigFilePath: null,
    mergeImportArrays: false,
    mergeSearchPlaces: false,
    cache: false,
    transform: (result) => result,
    loaders: { '.json': loader, '.yaml': loader, '.yml': loader, noExt: loader },
  })
  const found = await explorer.load(path).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error : unreadable(path, error)
  })
  return found === null || found.isEmpty
    ? undefined
    : { path, text, content: found.config as unknown, folder }
}

/** The settings inside a package.json, or undefined. */
export function packageSection(document: unknown): unknown {
  return isObject(document) && Object.hasOwn(document, packageKey) ? document[packageKey] : undefined
}

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

export function unreadable(file: string, cause: unknown): ConfigError {
  return new ConfigError(`${file}: the configuration file cannot be read.`, {
    hint: 'Change its permissions, or move it away.',
    cause,
  })
}

/** A name from a file, safe to print: quoted, shortened, with control and bidirectional characters escaped. */
export function quoted(name: string): string {
  const short = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
