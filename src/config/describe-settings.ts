import type { Context } from '../context.ts'
import { findProjectFile, findUserFile, type FoundFile } from './find-config-file.ts'
import { objectOf, type JsonObject } from '../json.ts'
import { lineOf, type Setting } from './layers.ts'
import type { Settings } from './settings.ts'
import { flagName, settingNames, settingTable, type SettingName } from './setting-table.ts'

/** A command may have a key in its words, an address a password. */
const secretSettings: ReadonlySet<SettingName> = new Set([
  'apiKeyCommand',
  'queue',
  'headers',
  'downloadHeaders',
])

/** Every setting with its value and where that comes from, as `config list` shows it. @throws what finding the files throws */
export async function describeSettings(context: Context, settings: Settings) {
  const files = { project: await findProjectFile(context), user: await findUserFile(context) }
  return settingNames.map((name) => {
    const { file: ownName, env, flag, about, onlyInFiles } = settingTable[name]
    const setting: Setting<unknown> = settings[name]
    const file =
      setting.level === 'project' ? files.project : setting.level === 'user' ? files.user : undefined
    const hidden = secretSettings.has(name) && setting.level !== 'default'
    return {
      name: ownName,
      value:
        onlyInFiles && !hidden
          ? written(ownName, settings.profile.value, files)
          : plainValue(setting.value, hidden),
      hidden,
      level: setting.level,
      source: setting.source,
      file: file?.path ?? null,
      line: file === undefined ? null : (lineIn(file, setting.source, ownName) ?? null),
      env: env ?? null,
      flag: flag === undefined ? null : flagName(flag),
      about,
    }
  })
}

function lineIn(file: FoundFile, source: string, name: string): number | undefined {
  const [, profile] = /, profile (.*)$/.exec(source) ?? []
  return lineOf(file, profile === undefined ? [name] : ['profiles', profile, name])
}

/** A mapping as it is written, of all files together: what it is converted to says less. */
function written(
  name: string,
  profile: string,
  { project, user }: Readonly<Record<'project' | 'user', FoundFile | undefined>>,
): JsonObject | null {
  const own = objectOf(user?.content)
  const sections = [own, objectOf(objectOf(own['profiles'])[profile]), objectOf(project?.content)]
  const entries = sections.flatMap((section) => Object.entries(objectOf(section[name])))
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

/** As JSON has it: an address without the slash at its end. */
function plainValue(value: unknown, hidden: boolean): unknown {
  if (value === undefined || hidden) return null
  return value instanceof URL ? value.href.replace(/\/$/, '') : value
}
