import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OutputSchemaName } from '../../src/events/documents.ts'
import { runMain } from './run-main.ts'

const validators = new Map<OutputSchemaName, Promise<ValidateFunction>>()

/**
 * Holds a document against a schema as `modelgate schema` prints it, closed: a field that it does not know is wrong.
 * @returns what is wrong, in words; nothing when all is right
 */
export async function problemsBySchema(name: OutputSchemaName, document: unknown) {
  let compiling = validators.get(name)
  if (compiling === undefined) validators.set(name, (compiling = compile(name)))
  const validate = await compiling
  validate(document)
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`
  })
}

async function compile(name: OutputSchemaName): Promise<ValidateFunction> {
  const { out } = await runMain(['schema', name])
  const open = '"type":"object",'
  const closed = JSON.stringify(JSON.parse(out)).replaceAll(open, `${open}"additionalProperties":false,`)
  return new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(closed) as object)
}
