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

/**
 * The JSON Schema of the manifest (draft 2020-12), for editors. What it refuses, the program refuses, too; the program
 * refuses more: what depends on other values, on files, and on the model.
 */
export function manifestSchema(): JsonObject {
  const { env: variables, vars, defaults, jobs, ...plain } = manifestFields
  const ofCommands = Object.fromEntries(commands.map((name) => [name, { $ref: refOf(name) }]))
  const properties = {
    ...propertiesOf(plain, closed),
    env: {
      ...closed(variables),
      items: { type: 'string', pattern: variableName.source },
    },
    vars: {
      type: 'object',
      description: vars.about,
      propertyNames: { pattern: jobName.source },
      additionalProperties: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/textFile' }] },
    },
    defaults: mapping(ofCommands, defaults.about),
    jobs: {
      type: 'object',
      description: jobs.about,
      propertyNames: { pattern: jobName.source },
      additionalProperties: { $ref: '#/$defs/job' },
    },
  }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Manifest of modelgate run',
    ...mapping(properties),
    required: requiredOf(manifestFields),
    $defs: {
      path: {
        type: 'string',
        // No URL, no absolute path, no backslash.
        pattern: '^(?![A-Za-z][A-Za-z0-9+.-]*:|/)[^\\\\]+$',
        description: 'a path relative to this file, or a reference: @job, @job#2, @job[id]',
      },
      template: { type: 'string', pattern: '\\$\\{', description: '${column} or ${env:NAME}' },
      textFile: {
        ...mapping({ file: { $ref: '#/$defs/path' } }, 'a text from a file, or { file: "@job" }'),
        required: ['file'],
      },
      job: jobSchema(ofCommands),
      ...Object.fromEntries(commands.map((name) => [definitionOf(name), commandSchema(name)])),
    },
  }
  // Without members that are undefined.
  return JSON.parse(JSON.stringify(schema)) as JsonObject
}

function jobSchema(ofCommands: JsonObject): JsonObject {
  return {
    ...mapping({ ...propertiesOf(jobFields, closed), ...ofCommands }),
    required: requiredOf(jobFields),
    oneOf: commands.map((name) => ({ required: [name] })),
  }
}

function definitionOf(command: CreatingCommand): string {
  return command.replace(' ', '-')
}

function refOf(command: CreatingCommand): string {
  return `#/$defs/${definitionOf(command)}`
}

function commandSchema(command: CreatingCommand): JsonObject {
  const { creates, model } = creatingCommands[command]
  const properties = [...fieldsOf(command).values()].map((field): [string, JsonObject] => [
    field.name,
    field.name === 'model' ? modelSchema(field, model.family) : fieldSchema(field),
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
  const path = { $ref: '#/$defs/path' }
  switch (field.kind) {
    case 'files':
      return field.input.isList
        ? { description, anyOf: [path, { type: 'array', minItems: 1, items: path }] }
        : { description, ...path }
    case 'schema':
      return { description, ...path }
    case 'source':
      return { description: `${description}, or @job`, type: 'string', minLength: 1 }
    case 'text': {
      // How long a text is shows only after substitution.
      const { maxLength: _, ...open } = field.field
      const { description: __, ...schema } = schemaOf(open)
      return { description, anyOf: [schema, { $ref: '#/$defs/textFile' }] }
    }
    case 'value':
      return templated(field.field)
  }
}

function templated(field: Field): JsonObject {
  const { description, default: usual, deprecated, ...schema } = schemaOf(field)
  const isOpen = field.type === 'object' || field.type === 'array' || isText(field)
  const anyOf = [schema, { $ref: '#/$defs/template' }]
  return { description, ...(isOpen ? schema : { anyOf }), default: usual, deprecated }
}

function isText({ type, values }: Field): boolean {
  return type.includes('string') && values === undefined
}

function schemaOf(field: Field): JsonObject {
  const { about, nullable, default: usual, deprecated } = field
  const types = typeof field.type === 'string' ? [field.type] : field.type
  const options = types.flatMap((type) => typedSchemas(type, field))
  const all = nullable === true ? [...options, { type: 'null' }] : options
  return {
    description: about,
    ...(all.length === 1 ? all[0] : { anyOf: all }),
    default: usual,
    deprecated: deprecated === undefined ? undefined : true,
  }
}

/** Words that are known stand before the type that takes others, too: editors offer them. */
function typedSchemas(type: string, field: Field): JsonObject[] {
  const { min: minimum, max: maximum, minLength, maxLength, items, fields, values, known = [] } = field
  switch (type) {
    case 'string':
      if (values !== undefined) return [{ type, enum: values }]
      return [...suggested(known), { type, minLength, maxLength }]
    case 'integer':
    case 'number':
      return [...suggested(known.map(Number)), { type, minimum, maximum }]
    case 'array': {
      const inner = items === undefined ? undefined : templated(items)
      return [{ type, minItems: minLength, maxItems: maxLength, items: inner }]
    }
    case 'object':
      return [{ type, properties: fields && propertiesOf(fields, templated) }]
    default:
      return [{ type }]
  }
}

function suggested(known: readonly unknown[]): JsonObject[] {
  return known.length === 0 ? [] : [{ enum: known }]
}

/** The tables of the manifest are closed; the objects of a request are as open as the contract leaves them. */
function closed(field: Field): JsonObject {
  const { fields } = field
  return fields === undefined ? schemaOf(field) : mapping(propertiesOf(fields, closed), field.about)
}

function propertiesOf(fields: Fields, schema: (field: Field) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schema(field)]))
}

function requiredOf(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.required === true)
}

function mapping(properties: JsonObject, description?: string): JsonObject {
  return { type: 'object', description, properties, additionalProperties: false }
}
