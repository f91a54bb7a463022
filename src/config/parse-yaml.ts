import { dangerousNames } from '../files/dangerous-names.ts'
import { deepest } from './parse-json.ts'
import { configError } from './problem.ts'

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
