import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { outputSchemas, type OutputSchemaName } from '../../src/events/documents.ts'
import { isObject } from '../../src/json.ts'

const validators = new Map<string, ValidateFunction>()

function validatorOf(name: OutputSchemaName): ValidateFunction {
  const known = validators.get(name)
  if (known !== undefined) return known
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(outputSchemas[name])
  validators.set(name, validate)
  return validate
}

function expectValid(name: OutputSchemaName, value: unknown): void {
  // Words of a gateway that gives back the key are hidden, and may be none of the schema's then.
  if (JSON.stringify(value).includes('[hidden]')) return
  const validate = validatorOf(name)
  validate(value)
  const errors = validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`) ?? []
  expect(errors, `${JSON.stringify(value).slice(0, 300)} against schema ${name}`).toEqual([])
}

/** What is whole JSON among the lines of a text, or the text itself. */
function objectsIn(text: string): unknown[] {
  const parsed = (json: string): unknown[] => {
    try {
      return [JSON.parse(json)].filter(isObject)
    } catch {
      return []
    }
  }
  return text.startsWith('{\n') ? parsed(text) : text.split('\n').slice(0, -1).flatMap(parsed)
}

/** Fails where a call has printed a document, an event or an error that the published schemas do not describe. */
export function expectPublished(
  argv: readonly string[],
  { out, err }: { readonly out: string; readonly err: string },
): void {
  const isLines = argv.includes('--jsonl')
  if (!isLines && !argv.includes('--json')) return
  for (const value of objectsIn(out) as { readonly version?: unknown }[]) {
    if (isLines) expectValid('events', value)
    // Others are requests (`--dry-run`) and replies of a gateway (`--raw`).
    else if (value.version === 1) expectValid('output', value)
  }
  for (const value of objectsIn(err) as { readonly error?: unknown }[]) {
    if (isObject(value.error) && 'exit_code' in value.error) expectValid('error', value)
  }
}
