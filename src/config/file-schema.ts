import { toJsonSchema } from '@valibot/to-json-schema'
import type { JsonObject } from '../json.ts'
import { settingNames, settingTable, type SettingName } from './setting-table.ts'

/** Whose file: a project's has fewer settings. */
export type ConfigOwner = 'user' | 'project'

/** For editors (draft 7, which they all know). What it refuses, the program refuses, too; the program refuses more. */
export async function configSchema(owner: ConfigOwner): Promise<JsonObject> {
  const names = settingNames.filter((name) => owner === 'user' || settingTable[name].project !== undefined)
  const properties = Object.fromEntries(
    await Promise.all(names.map(async (name) => [settingTable[name].file, await schemaOf(name)] as const)),
  )
  const { profile: _, ...ofProfiles } = properties
  const settings = { type: 'object', properties: ofProfiles, additionalProperties: false }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: owner === 'user' ? 'Configuration of modelgate' : 'Project file of modelgate',
    type: 'object',
    properties: {
      $schema: { type: 'string', description: 'the schema of this file, for editors' },
      ...properties,
      ...(owner === 'user' && {
        profiles: {
          type: 'object',
          description: 'settings by profile; --profile and MODELGATE_PROFILE choose one',
          additionalProperties: settings,
        },
      }),
    },
    additionalProperties: false,
  }
}

async function schemaOf(name: SettingName): Promise<JsonObject> {
  const { about, kind, default: preset } = settingTable[name]
  const schema = typeof kind.schema === 'function' ? await kind.schema() : kind.schema
  const { $schema: _, ...json } = toJsonSchema(schema, {
    target: 'draft-07',
    // In a pipe the last schema has the shape, and checks and conversions after it have none in JSON Schema.
    typeMode: 'output',
    errorMode: 'ignore',
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      valibotSchema.type === 'loose_object' ? { ...jsonSchema, additionalProperties: false } : undefined,
  })
  const hasDefault = preset !== undefined && typeof preset !== 'object'
  return { description: about, ...json, ...(hasDefault ? { default: preset } : {}) }
}
