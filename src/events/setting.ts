import * as f from './fields.ts'

export type SettingEntry = f.Infer<typeof setting>
const setting = f.shape('setting', {
  name: f.text('name in configuration files'),
  value: f.anything('the value; null when there is none, or when it is hidden'),
  hidden: f.flag('whether the value may hold a secret'),
  level: f.oneOf(['flag', 'environment', 'project', 'user', 'default'], 'kind of the source'),
  source: f.text('where the value comes from; several sources where they are joined'),
  file: f.textOrNull('path of the file that the value is from'),
  line: f.integerOrNull('line in the file, counted from 1'),
  env: f.textOrNull('environment variable for it'),
  flag: f.textOrNull('flag for it'),
  about: f.text('what it is'),
})

export type SettingsDocument = f.Infer<typeof settingsDocument>
export const settingsDocument = f.plainDocument(['config list', 'config get'], {
  profile: f.text('the profile that is in use'),
  settings: f.list('the settings', setting),
})

export type PlacesDocument = f.Infer<typeof placesDocument>
export const placesDocument = f.plainDocument(['config path'], {
  places: f.list('files and folders', {
    name: f.text('what is kept there'),
    path: f.textOrNull(
      'the absolute path; null without a home directory, and where there is no project file',
    ),
    exists: f.flag('whether it is there'),
  }),
})

export type InitDocument = f.Infer<typeof initDocument>
export const initDocument = f.document(['init'], {
  profile: f.text('the profile that was set up'),
  base_url: f.text('address of the gateway'),
  gateway: f.textOrNull('what the gateway answered to a request for its models; null when it was not asked'),
  key: f.orNull('null: it is left to the environment', {
    source: f.text('where the key comes from'),
    last_four: f.text('its last four characters; empty for a short one, and for one that is not read'),
  }),
  models: f.object({
    text: f.textOrNull('default model for text'),
    image: f.textOrNull('default model for images'),
    video: f.textOrNull('default model for videos'),
  }),
  changed: f.texts('the settings that were changed, by their names in the file'),
  written: f.texts('paths of the files that were changed'),
  test_exit_code: f.orNull('null: no call is made', f.count('exit code of a test call')),
  completion: f.textOrNull('null: modelgate completion SHELL prints it'),
})
