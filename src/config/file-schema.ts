import type { JsonObject } from '../json.ts'
import { settingNames, settingTable, type SettingName } from './setting-table.ts'

/** Whose file: a project's has fewer settings. */
export type ConfigOwner = 'user' | 'project'

/**
 * The JSON Schema of configuration files, for editors (draft 7, which they all know). What it refuses, the program
 * refuses, too; the program refuses more: what depends on other values, and what a project file may not raise.
 */
export async function configSchema(owner: ConfigOwner): Promise<JsonObject> {
  const names = settingNames.filter((name) => owner === 'user' || settingTable[name].project !== 'never')
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
      ...(owner === 'project'
        ? {}
        : {
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
  const json = typeof kind.json === 'function' ? await kind.json() : kind.json
  const hasDefault = preset !== undefined && typeof preset !== 'object'
  return { description: about, ...json, ...(hasDefault ? { default: preset } : {}) }
}
