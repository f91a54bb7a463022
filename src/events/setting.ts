import {
  anything,
  define,
  flag,
  integerOrNull,
  list,
  object,
  oneOf,
  text,
  textOrNull,
  version,
  type Infer,
} from './output-schema.ts'

/** A setting of `config list`. */
export type SettingEntry = Infer<typeof setting.schema>
const setting = define(
  'setting',
  object({
    name: text('name in configuration files'),
    value: anything('the value; null when there is none, or when it is hidden'),
    hidden: flag('whether the value may hold a secret'),
    level: oneOf(['flag', 'environment', 'project', 'user', 'default'], 'kind of the source'),
    source: text('where the value comes from; several sources where they are joined'),
    file: textOrNull('path of the file that the value is from'),
    line: integerOrNull('line in the file, counted from 1'),
    env: textOrNull('environment variable for it'),
    flag: textOrNull('flag for it'),
    about: text('what it is'),
  }),
)

export const settingDefinitions = [setting] as const

/** The document of `config list` and `config get`. */
export type SettingsDocument = Infer<typeof settingsDocument>
export const settingsDocument = object({
  version,
  command: oneOf(['config list', 'config get'], 'the command that ran'),
  profile: text('the profile that is in use'),
  settings: list(setting.reference, 'the settings'),
})

/** The document of `config path`. */
export type PlacesDocument = Infer<typeof placesDocument>
export const placesDocument = object({
  version,
  command: oneOf(['config path'], 'the command that ran'),
  places: list(
    object({
      name: text('what is kept there'),
      path: textOrNull(
        'the absolute path; null without a home directory, and for a project file that is not there',
      ),
      exists: flag('whether it is there'),
    }),
    'files and folders',
  ),
})
