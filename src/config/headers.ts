import type { Context } from '../context.ts'
import { ConfigError, ModelgateError } from '../errors.ts'
import { readInputFile } from '../files/input-file.ts'
import { isObject, type JsonObject } from '../json.ts'
import { isLoopback } from '../loopback.ts'
import { minHiddenLength } from '../limits.ts'
import { hiddenValue } from '../files/next-command.ts'
import { parsed, type Report } from './mapping.ts'
import { fileProblem } from './config-file.ts'
import { quoted } from './parse-config.ts'

/** Headers by their names in lower case: a value, `@FILE` or `env:NAME`. */
export type HeaderSources = Readonly<Record<string, string>>

/** Headers by the origin that they are sent to. */
export type DownloadHeaders = Readonly<Record<string, HeaderSources>>

const problem = 'must map names of headers to values'

/** As JSON Schema, which leaves the rules of names and values to the program. */
const mappingJson = { type: 'object', additionalProperties: { type: 'string', minLength: 1 } }

/** A mapping, or a list of lines `Name: value`. */
export const headerSources = parsed<HeaderSources, JsonObject | readonly string[]>(
  problem,
  (given, report) =>
    parseHeaders(Array.isArray(given) ? given.map(splitLine) : Object.entries(given), report),
  (value): value is JsonObject | readonly string[] => isObject(value) || Array.isArray(value),
  { anyOf: [mappingJson, { type: 'array', items: { type: 'string', pattern: String.raw`^[^\s:]+:\s*\S` } }] },
)

function splitLine(given: unknown): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(String(given)) ?? []
  return [name.trim(), value.trim()]
}

const parseDownloadHeaders = (mapping: JsonObject, report: Report): DownloadHeaders => {
  const found = Object.create(null) as Record<string, HeaderSources>
  for (const [origin, headers] of Object.entries(mapping)) {
    const url = URL.parse(origin)
    const isOrigin = url !== null && url.origin === origin.replace(/\/$/, '')
    const inside: Report = (keys, ...rest) => report([origin, ...keys], ...rest)
    if (!isOrigin || (url.protocol !== 'https:' && !isLoopback(url.hostname))) {
      inside([], 'must be an origin such as https://files.example')
    } else if (isObject(headers)) found[url.origin] = parseHeaders(Object.entries(headers), inside)
    else inside([], problem, headers)
  }
  return found
}

export const downloadHeaders = parsed<DownloadHeaders, JsonObject>(
  'must map origins to headers',
  parseDownloadHeaders,
  isObject,
  { type: 'object', additionalProperties: mappingJson },
)

/** The name of a header (RFC 9110, section 5.6.2). */
const token = /^[!#$%&'*+.^`|~\w-]+$/

/** Headers of the connection, of the body, and those that this program sets. */
const own =
  /^(?:host|connection|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|content-.*|accept-encoding|idempotency-key)$/

function parseHeaders(entries: readonly (readonly [string, unknown])[], report: Report): HeaderSources {
  const found = Object.create(null) as Record<string, string>
  for (const [given, value] of entries) {
    const name = given.toLowerCase()
    const wrong = Object.hasOwn(found, name) ? `has ${name} twice` : problemOf(name, value)
    if (wrong === undefined) found[name] = String(value)
    else report([], wrong)
  }
  return found
}

/** What is wrong with a header, as a clause. A value may be a secret: it is never quoted. */
function problemOf(name: string, value: unknown): string | undefined {
  if (!token.test(name))
    return name === '' ? "takes 'Name: value'" : `cannot set ${quoted(name)}: it is not the name of a header`
  if (own.test(name)) return `cannot set ${name}: the program sets it itself`
  if (typeof value !== 'string' || value === '') return `has no value for ${name}`
  if (value === hiddenValue) return `has ${hiddenValue} for ${name}: write the value in its place`
  return valueProblem(name, value)
}

function valueProblem(name: string, value: string): string | undefined {
  const isRight = /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  return isRight ? undefined : `has a line break or another character in ${name} that no header can have`
}

const maxValueBytes = 65_536

/** The values of headers. @param hide gets those that come from files and variables, unless they are too short */
export async function readHeaders(
  context: Context,
  sources: HeaderSources,
  hide: (secret: string) => void,
): Promise<HeaderSources> {
  const headers: Record<string, string> = {}
  for (const [name, source] of Object.entries(sources)) {
    const value = await valueOf(context, name, source)
    headers[name] = value
    if (value !== source && value.length >= 2 * minHiddenLength) hide(value)
  }
  return headers
}

async function valueOf(context: Context, name: string, source: string): Promise<string> {
  const [, variable] = /^env:(.+)$/.exec(source) ?? []
  if (variable === undefined && !source.startsWith('@')) return source
  const value =
    variable === undefined ? await contentOf(context, name, source.slice(1)) : context.env[variable]?.trim()
  const from = variable === undefined ? source : `the variable ${variable}`
  const wrong = value ? valueProblem(name, value) : `has no value for ${name}`
  if (wrong === undefined) return value!
  throw new ConfigError(`The headers: ${from} ${wrong}.`)
}

async function contentOf(context: Context, name: string, path: string): Promise<string> {
  const bytes = await readInputFile(context, path, { maxBytes: maxValueBytes })
  if (!(bytes instanceof ModelgateError)) return bytes.toString('utf8').trim()
  throw fileProblem(bytes, `The header ${name}`)
}
