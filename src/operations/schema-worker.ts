import { parentPort, workerData } from 'node:worker_threads'
import type { Ajv, AnySchemaObject, ErrorObject, ValidateFunction } from 'ajv'

/**
 * Compiles the schema of `--schema` and validates answers, in a worker thread: both may take any time and memory
 * (backtracking patterns, multiplying references) and can then be terminated.
 */

/**
 * The messages of the worker: any number of `trying`, then one of the others for the schema and for each answer.
 * @property clause follows `--schema`
 * @property errors where the answer differs, the first of `count`
 */
export type SchemaMessage =
  | { readonly kind: 'trying'; readonly pattern: string }
  | { readonly kind: 'compiled' }
  /** @property clause follows `--schema` */
  | { readonly kind: 'refused'; readonly clause: string; readonly hint?: string }
  /** @property places where the answer differs, the first of `count` */
  | { readonly kind: 'checked'; readonly errors: readonly string[]; readonly count: number }
  /** @property clause follows what could not be checked */
  | { readonly kind: 'unchecked'; readonly clause: string }

const port = parentPort!
const send = (message: SchemaMessage) => port.postMessage(message)

/** Maximum number of reported differences. */
const maxErrors = 10

/** By the last part of `$schema`. Each draft is loaded only when a schema asks for it. */
const drafts = {
  '2020-12': async () => (await import('ajv/dist/2020.js')).Ajv2020,
  '2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
}

class Refusal extends Error {
  readonly hint: string | undefined
  constructor(clause: string, hint?: string) {
    super(clause)
    this.hint = hint
  }
}

async function compile(schema: object | boolean): Promise<ValidateFunction> {
  const Ajv = await drafts[draftOf(schema)]()
  // Unknown keywords and formats are the model's business; what is known is enforced.
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false, logger: false })
  if (ajv.validateSchema(schema) !== true) {
    const [first] = ajv.errors ?? []
    throw new Refusal(`is not a valid JSON Schema${first === undefined ? '' : `: ${describeError(first)}`}`)
  }
  const validate = ajv.compile(schema)
  const { references, patterns } = partsOf(schema)
  tryReferences(ajv, schema, validate, references)
  for (const pattern of patterns) tryPattern(pattern)
  return validate
}

function draftOf(schema: object | boolean): keyof typeof drafts {
  const named = typeof schema === 'object' && '$schema' in schema ? schema.$schema : undefined
  if (typeof named !== 'string') return '2020-12'
  const draft = Object.keys(drafts).find((name) => named.includes(`/${name}/`))
  if (draft !== undefined) return draft as keyof typeof drafts
  throw new Refusal(
    `has a "$schema" that is not known here: ${JSON.stringify(named.slice(0, 80))}`,
    `Known are ${Object.keys(drafts).join(', ')}; without "$schema" it is read as 2020-12.`,
  )
}

/** Keywords whose values are not schemas. */
const valueKeywords = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords that map names to schemas. */
const namingKeywords = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** Collects the references and patterns of a schema, without duplicates. */
function partsOf(schema: unknown) {
  const references = new Set<string>()
  const patterns = new Set<string>()
  const visit = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return
    for (const [name, value] of Object.entries(part)) {
      if (valueKeywords.has(name)) continue
      if (name === '$ref' && typeof value === 'string' && value.startsWith('#')) references.add(value)
      if (name === 'pattern' && typeof value === 'string') patterns.add(value)
      if (name === 'patternProperties' && typeof value === 'object' && value !== null) {
        for (const pattern of Object.keys(value)) patterns.add(pattern)
      }
      const isNaming = namingKeywords.has(name) && typeof value === 'object' && value !== null
      for (const inner of isNaming ? Object.values(value) : [value]) visit(inner)
    }
  }
  visit(schema)
  return { references, patterns }
}

/** One value of each type. */
const values = [null, true, 1, 'a', [], {}, [1], { a: 1 }]

/** Maximum number of references that are tried one by one. */
const maxReferences = 200

/**
 * Finds references that refer to themselves without descending into the value: every such cycle contains one of them.
 * @throws RangeError for one
 */
function tryReferences(
  ajv: Ajv,
  schema: object | boolean,
  whole: ValidateFunction,
  references: ReadonlySet<string>,
): void {
  for (const value of values) whole(value)
  if (references.size === 0) return
  const { $id: _, ...unnamed } = schema as AnySchemaObject
  ajv.addSchema(unnamed, 'answer')
  for (const reference of [...references].slice(0, maxReferences)) {
    const part = partAt(ajv, `answer${reference}`)
    if (part !== undefined) for (const value of values) part(value)
  }
}

/**
 * Compiles the target of a reference. Also undefined if it can be resolved only relative to another `$id`.
 * @throws RangeError as `tryReferences`
 */
function partAt(ajv: Ajv, name: string): ValidateFunction | undefined {
  try {
    return ajv.getSchema(name)
  } catch (error) {
    if (error instanceof RangeError) throw error
    return undefined
  }
}

/** Long enough to make a backtracking pattern take years. */
const probeLength = 60

/** Tests a pattern against texts that almost match: one with catastrophic backtracking does not return. */
function tryPattern(pattern: string): void {
  send({ kind: 'trying', pattern })
  const expression = new RegExp(pattern, 'u')
  const letters = [...new Set(pattern.match(/[\p{L}\p{N} _.@/:-]/gu))].slice(0, 64)
  for (const text of [...letters, ...'aA0_ -.@/', letters.join('')]) {
    expression.test(`${text.repeat(probeLength)}\u0000`)
  }
}

/** `/age must be integer`, with the parameter if the message does not name it. */
function describeError({ instancePath, message, params }: ErrorObject): string {
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue } = params
  const name: unknown = additionalProperty ?? unevaluatedProperty
  const wanted: unknown = allowedValues ?? allowedValue
  const detail = name ?? wanted
  const shown = detail === undefined ? '' : ` (${listed(detail)})`
  return `${instancePath || '(root)'} ${message}${shown}`
}

function listed(value: unknown): string {
  const text = (Array.isArray(value) ? value : [value]).map((entry) => JSON.stringify(entry)).join(', ')
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}

function check(validate: ValidateFunction, text: string): SchemaMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'checked', errors: ['it is not JSON'], count: 1 }
  }
  try {
    if (validate(value)) return { kind: 'checked', errors: [], count: 0 }
  } catch {
    return { kind: 'unchecked', clause: 'is nested too deeply' }
  }
  const all = validate.errors ?? []
  return { kind: 'checked', errors: all.slice(0, maxErrors).map(describeError), count: all.length }
}

async function answer(): Promise<void> {
  try {
    const validate = await compile(JSON.parse(workerData as string) as object | boolean)
    port.on('message', (text: string) => send(check(validate, text)))
    send({ kind: 'compiled' })
  } catch (error) {
    const clause =
      error instanceof RangeError
        ? 'refers to itself without an end, or is nested too deeply'
        : `is not a valid JSON Schema: ${(error as Error).message}`
    send(
      error instanceof Refusal
        ? { kind: 'refused', clause: error.message, ...(error.hint !== undefined && { hint: error.hint }) }
        : { kind: 'refused', clause },
    )
  }
}

void answer()
