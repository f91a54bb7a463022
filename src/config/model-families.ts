import { families as builtIn, familyCalled } from '../contract/families.ts'
import type {
  Endpoint,
  Family,
  FamilyEndpoint,
  FamilyFields,
  Field,
  SourceLimits,
} from '../contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../contract/images.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { SizeRule } from '../contract/size-rule.ts'
import { videoRemixEndpoint } from '../contract/videos.ts'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { mappingSchema, unknownKey, type Report } from './mapping-schema.ts'

/**
 * `families:` of a configuration. Each model id has the name of a family, `none`, or the limits of a family of its own,
 * which other ids of the same mapping can name.
 */
export const modelFamilies = mappingSchema('must map model ids to families', parseFamilies)

function parseFamilies(mapping: JsonObject, report: Report): ModelFamilies {
  // No prototype, so that a model called `constructor` does not get a family by accident.
  const found = Object.create(null) as Record<string, Family | null>
  for (const [id, value] of Object.entries(mapping)) {
    if (isObject(value)) found[id] = parseFamily(id, value, (keys, ...rest) => report([id, ...keys], ...rest))
  }
  const own: ReadonlyMap<string, Family | null> = new Map(Object.entries(found))
  const named = (name: string) => (name === 'none' ? null : (own.get(name) ?? familyCalled(name)))
  for (const [id, value] of Object.entries(mapping).filter(([, given]) => !isObject(given))) {
    const family = typeof value === 'string' ? named(value) : undefined
    if (family === undefined) report([id], nameProblem(value, [...own.keys()]), value)
    else found[id] = family
  }
  return found
}

function nameProblem(value: unknown, own: readonly string[]): string {
  if (typeof value !== 'string') return 'must be the name of a family, none, or a mapping of limits'
  const names = [...own, ...builtIn.map(({ id }) => id)]
  const near = nearestName(value, names)
  return near === undefined
    ? `must be none or one of the families ${names.join(', ')}`
    : `must be none or a family, such as ${near}`
}

export const familyEndpoints: Readonly<Partial<Record<FamilyEndpoint, Endpoint>>> = {
  'image create': imageCreateEndpoint,
  'image edit': imageEditEndpoint,
  'video remix': videoRemixEndpoint,
}
const familyKeys = ['about', ...Object.keys(familyEndpoints), 'sources']

/** A family whose name is the first id that it is for. */
function parseFamily(id: string, given: JsonObject, report: Report): Family {
  const limits: Partial<Record<FamilyEndpoint, FamilyFields>> = {}
  let about = ''
  let sources: SourceLimits | undefined
  for (const [key, value] of Object.entries(given)) {
    const inside: Report = (keys, ...rest) => report([key, ...keys], ...rest)
    const endpoint = Object.hasOwn(familyEndpoints, key) ? familyEndpoints[key as FamilyEndpoint] : undefined
    if (endpoint !== undefined) limits[endpoint.name!] = parseLimits(endpoint, value, inside)
    else if (key === 'about' && typeof value === 'string') about = value
    else if (key === 'about') report([key], 'must be text', value)
    else if (key === 'sources') sources = parseSources(value, inside)
    else report([key], unknownKey('is not a part of a family', key, familyKeys))
  }
  if (Object.keys(limits).length === 0) {
    report([], `must have the limits of at least one of ${Object.keys(familyEndpoints).join(', ')}`, given)
  }
  const kind = 'video remix' in limits ? 'video' : 'image'
  return { id, kind, about, endpoints: limits, ...(sources === undefined ? {} : { sources }) }
}

function parseLimits({ name, fields }: Endpoint, given: unknown, report: Report): FamilyFields {
  if (!isObject(given)) {
    report([], 'must map fields to limits', given)
    return {}
  }
  const known = Object.keys(fields).filter((field) => field !== 'model')
  const limits: Record<string, FamilyFields[string]> = {}
  for (const [key, value] of Object.entries(given)) {
    if (!known.includes(key)) report([key], unknownKey(`is not a field of ${name}`, key, known))
    else {
      const limit = parseLimit(key, fields[key]!, value, (keys, ...rest) => report([key, ...keys], ...rest))
      if (limit !== undefined) limits[key] = limit
    }
  }
  return limits
}

/** False, a list of words, or bounds by their names; of a size also the rule. */
function parseLimit(
  name: string,
  { type }: Field,
  value: unknown,
  report: Report,
): FamilyFields[string] | undefined {
  if (value === false) return false
  const isText = type === 'string'
  if (isText && isWords(value)) return { values: value }
  if (name === 'size' && isObject(value)) return parseSize(value, report)
  const keys = isText ? ['max_length'] : type === 'integer' || type === 'number' ? ['min', 'max'] : []
  if (keys.length === 0 || !isObject(value)) {
    const words = isText ? ', a list of words' : ''
    const mapping = keys.length === 0 ? '' : ` or a mapping of ${keys.join(', ')}`
    report([], `must be false${words}${mapping}`, value)
    return undefined
  }
  const bounds = parseNumbers(value, keys, report)
  const { max_length: maxLength } = bounds
  return maxLength === undefined ? bounds : { maxLength }
}

/** Limits that need not be whole numbers. */
const fractions = new Set(['min', 'max', 'max_ratio', 'below_mb'])
export const sizeKeys = ['multiple_of', 'max_ratio', 'max_edge', 'min_pixels', 'max_pixels']

function parseSize(given: JsonObject, report: Report): FamilyFields[string] | undefined {
  const { words = [], ...rest } = given
  if (!isWords(words) && !(Array.isArray(words) && words.length === 0)) {
    report(['words'], 'must be a list of words', words)
  }
  const found = parseNumbers(rest, sizeKeys, report, ['words'])
  const missing = sizeKeys.filter((key) => !(key in given))
  if (missing.length > 0) report([], `must have ${missing.join(', ')}, too`)
  const rule: SizeRule = {
    multipleOf: found['multiple_of'] ?? 1,
    maxRatio: found['max_ratio'] ?? 1,
    maxEdge: found['max_edge'] ?? 1,
    minPixels: found['min_pixels'] ?? 1,
    maxPixels: found['max_pixels'] ?? 1,
  }
  return { values: words as readonly string[], size: rule }
}

const sourceKeys = ['max_count', 'below_mb', 'media_types', 'square']

function parseSources(given: unknown, report: Report): SourceLimits | undefined {
  if (!isObject(given)) {
    report([], `must be a mapping of ${sourceKeys.join(', ')}`, given)
    return undefined
  }
  const { media_types: types = familyMediaTypes, square = false, ...rest } = given
  if (!isWords(types) || types.some((type) => !familyMediaTypes.includes(type))) {
    report(['media_types'], `must be a list of ${familyMediaTypes.join(', ')}`, types)
  }
  if (typeof square !== 'boolean') report(['square'], 'must be true or false', square)
  const found = parseNumbers(rest, sourceKeys.slice(0, 2), report, sourceKeys.slice(2))
  return {
    maxCount: found['max_count'] ?? Infinity,
    below: Math.round((found['below_mb'] ?? Infinity) * 1_000_000),
    mediaTypes: types as readonly string[],
    square: square === true,
  }
}

export const familyMediaTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

/** Numbers, by their names. @param others keys that are allowed beside them, for the nearest one */
function parseNumbers(
  given: JsonObject,
  keys: readonly string[],
  report: Report,
  others: readonly string[] = [],
): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [key, value] of Object.entries(given)) {
    if (!keys.includes(key)) report([key], unknownKey('is not a limit', key, [...keys, ...others]))
    else {
      const least = sizeKeys.includes(key) ? 1 : 0
      const isNumber = typeof value === 'number' && Number.isFinite(value) && value >= least
      const isFraction = isNumber && !Number.isInteger(value)
      if (isNumber && (!isFraction || fractions.has(key))) numbers[key] = value
      else report([key], `must be a ${isFraction ? 'whole ' : ''}number from ${least}`, value)
    }
  }
  return numbers
}

function isWords(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string' && word !== '')
  )
}
