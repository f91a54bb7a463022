import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import type { Field, Fields } from '../../contract/field.ts'
import { knownModels } from '../../contract/known-models.ts'
import type { JsonObject } from '../../json.ts'
import {
  fieldsOf,
  nouns,
  type CommandField,
  jobFields,
  jobName,
  manifestFields,
  variableName,
} from './manifest-fields.ts'

const commands = Object.keys(creatingCommands) as CreatingCommand[]

const definedName = (name: string) => name.replace(' ', '-')
const refTo = (name: string) => ({ $ref: `#/$defs/${definedName(name)}` })

const definitions = {
  path: {
    type: 'string',
    // No URL, no absolute path, no backslash.
    pattern: '^(?![A-Za-z][A-Za-z0-9+.-]*:|/)[^\\\\]+$',
    description: 'a path relative to this file, or a reference: @job, @job#2, @job[id]',
  },
  template: { type: 'string', pattern: '\\$\\{', description: '${column} or ${env:NAME}' },
  textFile: {
    ...mapping({ file: refTo('path') }, 'a text from a file, or { file: "@job" }'),
    required: ['file'],
  },
}

/**
 * The JSON Schema of the manifest (draft 2020-12), for editors. What it refuses, the program refuses, too; the program
 * refuses more: what depends on other values, on files, and on the model.
 */
export function manifestSchema(): JsonObject {
  const { env, vars, defaults, jobs, ...plain } = manifestFields
  const ofCommands = Object.fromEntries(commands.map((name) => [name, refTo(name)]))
  const named = (about: string, inner: JsonObject) => ({
    type: 'object',
    description: about,
    propertyNames: { pattern: jobName.source },
    additionalProperties: inner,
  })
  const properties = {
    ...propertiesOf(plain, closed),
    env: { ...closed(env), items: { type: 'string', pattern: variableName.source } },
    vars: named(vars.about, { anyOf: [{ type: 'string' }, refTo('textFile')] }),
    defaults: mapping(ofCommands, defaults.about),
    jobs: named(jobs.about, refTo('job')),
  }
  const job = {
    ...mapping({ ...propertiesOf(jobFields, closed), ...ofCommands }),
    required: requiredOf(jobFields),
    oneOf: commands.map((name) => ({ required: [name] })),
  }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Manifest of modelgate run',
    ...mapping(properties),
    required: requiredOf(manifestFields),
    $defs: {
      ...definitions,
      job,
      ...Object.fromEntries(commands.map((name) => [definedName(name), commandSchema(name)])),
    },
  }
  // Without members that are undefined.
  return JSON.parse(JSON.stringify(schema)) as JsonObject
}

function commandSchema(command: CreatingCommand): JsonObject {
  const { creates, model } = creatingCommands[command]
  const properties = Array.from(fieldsOf(command), ([name, field]) => [
    name,
    name === 'model' ? modelSchema(field, model.family) : fieldSchema(field),
  ])
  const schema = mapping(Object.fromEntries(properties), `modelgate ${command}: makes ${nouns[creates][1]}`)
  // A command may have nothing but defaults.
  return { ...schema, type: ['object', 'null'] }
}

function modelSchema({ about }: CommandField, family: 'image' | 'video' | null): JsonObject {
  const known = knownModels().filter((model) => family !== null && model.family?.kind === family)
  const anyOf = [...suggested(known.map(({ id }) => id)), { type: ['string', 'null'] }]
  return { description: about, anyOf }
}

function fieldSchema(field: CommandField): JsonObject {
  const description = field.about
  const path = refTo('path')
  if (field.kind === 'value') return templated(field.field)
  if (field.kind === 'text') {
    // How long a text is shows only after substitution.
    const { maxLength: _, ...open } = field.field
    return schemaOf(open, templated, [refTo('textFile')])
  }
  if (field.kind === 'source') return { description: `${description}, or @job`, type: 'string', minLength: 1 }
  const isList = field.kind === 'files' && field.input.isList
  return isList
    ? { description, anyOf: [path, { type: 'array', minItems: 1, items: path }] }
    : { description, ...path }
}

/** A value of a request: where it is no text itself, `${…}` may stand for it. Its objects are as open as the contract's. */
function templated(field: Field): JsonObject {
  const isText = field.type.includes('string') && field.values === undefined
  const isOpen = field.type === 'object' || field.type === 'array' || isText
  return schemaOf(field, templated, isOpen ? [] : [refTo('template')])
}

/** A value of the manifest's own tables. */
function closed(field: Field): JsonObject {
  const { fields, about } = field
  return fields === undefined ? schemaOf(field, closed) : mapping(propertiesOf(fields, closed), about)
}

type ToSchema = (field: Field) => JsonObject

/** @param inner makes the schemas of what is inside its value @param others what is taken besides its own values */
function schemaOf(field: Field, inner: ToSchema, others: readonly JsonObject[] = []): JsonObject {
  const types = [field.type].flat()
  const own = types.flatMap((type) => typedSchemas(type, field, inner))
  const options = [...own, ...(field.nullable === true ? [{ type: 'null' }] : []), ...others]
  return {
    description: field.about,
    ...(options.length === 1 ? options[0] : { anyOf: options }),
    default: field.default,
    deprecated: field.deprecated === undefined ? undefined : true,
  }
}

/** Words that are known stand before the type that takes others, too: editors offer them. */
function typedSchemas(type: string, field: Field, inner: ToSchema): JsonObject[] {
  const { min: minimum, max: maximum, minLength, maxLength, items, fields, values, known = [] } = field
  if (type === 'string' && values !== undefined) return [{ type, enum: values }]
  if (type === 'string') return [...suggested(known), { type, minLength, maxLength }]
  if (type === 'array')
    return [{ type, minItems: minLength, maxItems: maxLength, items: items && inner(items) }]
  if (type === 'object') return [{ type, properties: fields && propertiesOf(fields, inner) }]
  return [...suggested(known.map(Number)), { type, minimum, maximum }]
}

function suggested(known: readonly unknown[]): JsonObject[] {
  return known.length === 0 ? [] : [{ enum: known }]
}

function propertiesOf(fields: Fields, schema: ToSchema): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schema(field)]))
}

function requiredOf(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.required === true)
}

function mapping(properties: JsonObject, description?: string): JsonObject {
  return { type: 'object', description, properties, additionalProperties: false }
}
