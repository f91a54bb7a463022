import { parentPort, workerData } from 'node:worker_threads'
import type { ErrorObject, ValidateFunction } from 'ajv'

/**
 * Compiles a schema and validates texts, in a thread that can be terminated: both may take any time and memory
 * (backtracking patterns, multiplying references). It sends one message for the schema, and one for each text.
 */

/** Empty for a schema that can be used, and for a text that matches it. */
export interface SchemaMessage {
  /** Where the text differs. */
  readonly places?: string
  /** Why the schema cannot be used, or the text not be checked; it follows what names it. */
  readonly clause?: string
  readonly hint?: string
}

const port = parentPort!
const send = (message: SchemaMessage) => port.postMessage(message)

const maxPlaces = 10

/** By the last part of `$schema`. Each draft is loaded only when a schema asks for it. */
const drafts = {
  '2020-12': async () => (await import('ajv/dist/2020.js')).Ajv2020,
  '2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
}

async function compile(schema: unknown): Promise<ValidateFunction | SchemaMessage> {
  const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema)
  if (!isObject && typeof schema !== 'boolean') return { clause: 'must be a JSON object (a JSON Schema)' }
  const named = isObject && '$schema' in schema ? schema.$schema : undefined
  const known = Object.keys(drafts) as (keyof typeof drafts)[]
  const draft =
    typeof named === 'string' ? known.find((name) => named.includes(`/${name}/`)) : ('2020-12' as const)
  if (draft === undefined) {
    return {
      clause: `has a "$schema" that is not known here: ${JSON.stringify((named as string).slice(0, 80))}`,
      hint: `Known are ${known.join(', ')}; without "$schema" it is read as 2020-12.`,
    }
  }
  const Ajv = await drafts[draft]()
  // Unknown keywords and formats are the model's business; what is known is enforced.
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false, logger: false })
  try {
    if (ajv.validateSchema(schema) === true) return ajv.compile(schema)
    return invalid(describeError(ajv.errors![0]!))
  } catch (error) {
    return error instanceof RangeError ? tooDeep : invalid((error as Error).message)
  }
}

const tooDeep = { clause: 'is nested too deeply, or the schema refers to itself without an end' }

const invalid = (reason: string) => ({ clause: `is not a valid JSON Schema: ${reason}` })

function check(validate: ValidateFunction, text: string): SchemaMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { places: 'it is not JSON' }
  }
  try {
    if (validate(value)) return {}
    const errors = validate.errors!
    const more = errors.length > maxPlaces ? [`and ${errors.length - maxPlaces} more`] : []
    return { places: [...errors.slice(0, maxPlaces).map(describeError), ...more].join('; ') }
  } catch {
    return tooDeep
  }
}

function describeError({ instancePath, message, params }: ErrorObject): string {
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue } = params
  const detail: unknown = additionalProperty ?? unevaluatedProperty ?? allowedValues ?? allowedValue
  const shown = detail === undefined ? '' : ` (${listed(detail)})`
  return `${instancePath || '(root)'} ${message}${shown}`
}

function listed(value: unknown): string {
  const text = (Array.isArray(value) ? value : [value]).map((entry) => JSON.stringify(entry)).join(', ')
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}

async function start(): Promise<void> {
  const validate = await compile(JSON.parse(workerData as string))
  if (typeof validate !== 'function') return send(validate)
  port.on('message', (text: string) => send(check(validate, text)))
  send({})
}

void start()
