import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { parseJsonFileFlag } from './json-value.ts'

/** The schema of `--schema`, and the check of an answer against it. */
export interface AnswerSchema {
  readonly schema: unknown
  /** @throws ModelgateError (exit 14) that lists where the answer differs */
  check(text: string): void
}

/**
 * Reads the schema of `--schema`: JSON, `@file`, or a bare file name.
 * @throws UsageError, FileError as `parseJsonFlag` does; UsageError `bad_schema` when it is no JSON Schema
 */
export async function readAnswerSchema(context: Context, text: string): Promise<AnswerSchema> {
  return compileAnswerSchema(await parseJsonFileFlag(context, '--schema', text))
}

/**
 * Compiles a schema with a standard JSON Schema validator, before anything is sent.
 * Draft 2020-12, or what its `$schema` says: draft 2019-09 and draft 7 are known too.
 * @throws UsageError `bad_schema` when it is no valid JSON Schema
 */
export async function compileAnswerSchema(schema: unknown): Promise<AnswerSchema> {
  const validate = await compile(schema)
  return {
    schema,
    check(text) {
      const value = parseAnswer(text)
      if (validate(value)) return
      const all = validate.errors ?? []
      const more = all.length > mostPlaces ? `; and ${all.length - mostPlaces} more` : ''
      const places = all.slice(0, mostPlaces).map(placeOf).join('; ')
      throw mismatch(`The answer does not match --schema: ${places}${more}.`)
    },
  }
}

const mostPlaces = 10

/** By the last part of `$schema`. Each draft is loaded only when a schema asks for it. */
const drafts = {
  '2020-12': async () => (await import('ajv/dist/2020.js')).Ajv2020,
  '2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
}

async function compile(schema: unknown): Promise<ValidateFunction> {
  if (
    typeof schema !== 'boolean' &&
    (typeof schema !== 'object' || schema === null || Array.isArray(schema))
  ) {
    throw bad('must be a JSON object (a JSON Schema)')
  }
  const Ajv = await drafts[draftOf(schema)]()
  // Unknown keywords and formats are the model's business; what is known is enforced.
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false, logger: false })
  try {
    if (ajv.validateSchema(schema) === true) return ajv.compile(schema)
  } catch (cause) {
    throw bad(`is not a valid JSON Schema: ${(cause as Error).message}`, cause)
  }
  const [first] = ajv.errors ?? []
  throw bad(`is not a valid JSON Schema${first === undefined ? '' : `: ${placeOf(first)}`}`)
}

function draftOf(schema: object | boolean): keyof typeof drafts {
  const named = typeof schema === 'object' && '$schema' in schema ? schema.$schema : undefined
  if (typeof named !== 'string') return '2020-12'
  const draft = Object.keys(drafts).find((name) => named.includes(`/${name}/`))
  if (draft !== undefined) return draft as keyof typeof drafts
  throw bad(
    `has a "$schema" that is not known here: ${JSON.stringify(named.slice(0, 80))}`,
    undefined,
    `Known are ${Object.keys(drafts).join(', ')}; without "$schema" it is read as 2020-12.`,
  )
}

/** `/age must be integer`; where the message alone leaves open which, it is named. */
function placeOf({ instancePath, message, params }: ErrorObject): string {
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

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw mismatch('The answer does not match --schema: it is not JSON.')
  }
}

function bad(clause: string, cause?: unknown, hint?: string): UsageError {
  return new UsageError(`--schema ${clause}.`, {
    code: 'bad_schema',
    cause,
    ...(hint === undefined ? {} : { hint }),
  })
}

function mismatch(message: string): ModelgateError {
  return new ModelgateError('schema', 'schema_mismatch', message, {
    phase: 'result',
    billed: 'yes',
    hint: 'Make the prompt or the schema clearer; the answer itself was kept.',
  })
}
