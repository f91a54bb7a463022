import * as v from 'valibot'
import { families as builtIn, familyCalled } from '../contract/families.ts'
import type { Endpoint, Family, FamilyFields, Field } from '../contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../contract/images.ts'
import type { SizeRule } from '../contract/size-rule.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import { videoRemixEndpoint } from '../contract/videos.ts'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { byName, check, checkKeys, mapping, numberFrom, withoutPrototype } from './mapping.ts'

const word = v.pipe(v.string('must be a word'), v.nonEmpty('must be a word'))
const notLimit = 'is not a limit'
const whole = { isWhole: true }
const described = (schema: v.GenericSchema<unknown, number>, description: string) =>
  v.pipe(schema, v.description(description))

/** All of them are needed, so that a missing one is named with the others. */
const sizeLimits = {
  multiple_of: described(numberFrom(1, whole), 'both edges are multiples of it'),
  max_ratio: described(numberFrom(1), 'largest ratio of the longer edge to the shorter one'),
  max_edge: described(numberFrom(1, whole), 'longest edge'),
  min_pixels: described(numberFrom(1, whole), 'fewest pixels in all'),
  max_pixels: described(numberFrom(1, whole), 'most pixels in all'),
}
const sizeKeys = Object.keys(sizeLimits)

type Limit = FamilyFields[string]
type LimitSchema = v.GenericSchema<unknown, Limit>

const sizeRule = (problem: string): LimitSchema =>
  v.pipe(
    mapping(
      {
        words: v.optional(
          v.pipe(v.array(word, 'must be a list of words'), v.description('sizes that are words')),
          [],
        ),
        ...v.partial(v.object(sizeLimits)).entries,
      },
      problem,
      notLimit,
    ),
    checkKeys((keys, report) => {
      const missing = sizeKeys.filter((key) => !keys.has(key))
      if (missing.length > 0) report([], `must have ${missing.join(', ')}, too`)
    }),
    v.metadata({ required: sizeKeys }),
    v.transform(({ words, ...size }) => ({ values: words, size: size as SizeRule })),
  )

/** False, a list of words, or bounds by their names; of a size also the rule. */
function limitOf(name: string, { type }: Field): LimitSchema {
  const isText = type === 'string'
  const isNumber = type === 'integer' || type === 'number'
  const keys = name === 'size' ? sizeKeys : isText ? ['max_length'] : isNumber ? ['min', 'max'] : []
  const forms = isText ? ', a list of words' : ''
  const problem = `must be false${forms}${keys.length === 0 ? '' : ` or a mapping of ${keys.join(', ')}`}`
  const not: LimitSchema = v.pipe(v.literal(false, problem), v.description('the field is not taken'))
  if (isNumber) {
    const bound = v.optional(numberFrom(0))
    return v.union([not, mapping({ min: bound, max: bound }, problem, notLimit) as LimitSchema], problem)
  }
  if (!isText) return not
  const words: LimitSchema = v.pipe(
    v.array(word, problem),
    v.minLength(1, problem),
    v.transform((values) => ({ values })),
  )
  const length: LimitSchema = v.pipe(
    mapping({ max_length: v.optional(numberFrom(0, whole)) }, problem, notLimit),
    v.transform(({ max_length: maxLength }) => (maxLength === undefined ? {} : { maxLength })),
  )
  return v.union([not, words, name === 'size' ? sizeRule(problem) : length], problem)
}

function limitsOf({ name, fields }: Endpoint) {
  const known = Object.entries(fields).filter(([field]) => field !== 'model')
  const limits = Object.fromEntries(known.map(([field, rule]) => [field, v.optional(limitOf(field, rule))]))
  const schema = mapping(limits, 'must map fields to limits', `is not a field of ${name}`)
  return v.pipe(schema, v.description(`limits of modelgate ${name}, by field of the request`))
}

const endpoints = [imageCreateEndpoint, imageEditEndpoint, videoRemixEndpoint]
const endpointKeys = endpoints.map(({ name }) => name!)

const mediaTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']
const listProblem = `must be a list of ${mediaTypes.join(', ')}`
const sourceLimits = {
  max_count: v.optional(described(numberFrom(0, whole), 'most files')),
  below_mb: v.optional(described(numberFrom(0), 'each file must be smaller, in millions of bytes')),
  media_types: v.optional(
    v.pipe(
      v.array(v.picklist(mediaTypes, `must be one of ${mediaTypes.join(', ')}`), listProblem),
      v.minLength(1, listProblem),
    ),
    mediaTypes,
  ),
  square: v.optional(v.boolean('must be true or false'), false),
}
const sources = v.pipe(
  mapping(sourceLimits, `must be a mapping of ${Object.keys(sourceLimits).join(', ')}`, notLimit),
  v.description('what image edit may start from'),
  v.transform(({ max_count = Infinity, below_mb = Infinity, ...others }) => ({
    max_count,
    below_bytes: Math.round(below_mb * 1_000_000),
    ...others,
  })),
)

const anyForm = 'must be the name of a family, none, or a mapping of limits'
const own = v.pipe(
  mapping(
    {
      about: v.optional(v.pipe(v.string('must be text'), v.description('what the family is')), ''),
      ...Object.fromEntries(endpoints.map((endpoint) => [endpoint.name!, v.optional(limitsOf(endpoint))])),
      sources: v.optional(sources),
    },
    anyForm,
    'is not a part of a family',
  ),
  checkKeys((keys, report) => {
    if (endpointKeys.some((key) => keys.has(key))) return
    report([], `must have the limits of at least one of ${endpointKeys.join(', ')}`)
  }),
  v.metadata({ anyOf: endpointKeys.map((key) => ({ required: [key] })) }),
  v.transform(({ about, sources: limits, ...rest }) => ({
    kind: 'video remix' in rest ? ('video' as const) : ('image' as const),
    about,
    endpoints: rest as Family['endpoints'],
    ...(limits !== undefined && { sources: limits }),
  })),
)

/**
 * `families:` of a configuration. Each model id has the name of a family, `none`, or the limits of a family of its own,
 * which other ids of the same mapping can name.
 */
export const modelFamilies: v.GenericSchema<unknown, ModelFamilies> = v.pipe(
  // A name can be that of any family of the same file; those that are built in are offered by editors.
  byName<string | Omit<Family, 'id'>>(
    v.union([v.picklist(['none', ...builtIn.map(({ id }) => id)]), v.string(), own], anyForm),
    'must map model ids to families',
  ),
  check((given, report) => {
    const entries = Object.entries(given as JsonObject)
    const names = entries.flatMap(([id, value]) => (isObject(value) ? [id] : []))
    for (const [id, name] of entries) {
      if (typeof name !== 'string' || name === 'none' || names.includes(name)) continue
      if (familyCalled(name) === undefined) report([id], nameProblem(name, names), name)
    }
  }),
  v.transform((given) => {
    const entries = Object.entries(given)
    const families = new Map(
      entries.flatMap(([id, value]) => (typeof value === 'string' ? [] : [[id, { id, ...value }]])),
    )
    const called = (name: string) => (name === 'none' ? null : (families.get(name) ?? familyCalled(name)!))
    const found = entries.map(([id, value]) => [id, called(typeof value === 'string' ? value : id)] as const)
    return withoutPrototype(Object.fromEntries(found))
  }),
)

function nameProblem(value: string, own: readonly string[]): string {
  const names = [...own, ...builtIn.map(({ id }) => id)]
  const near = nearestName(value, names)
  return near === undefined
    ? `must be none or one of the families ${names.join(', ')}`
    : `must be none or a family, such as ${near}`
}
