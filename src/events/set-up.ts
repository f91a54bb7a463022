import * as f from './fields.ts'
import { warnings } from './text.ts'

const models = f.object({
  text: f.textOrNull('default model for text'),
  image: f.textOrNull('default model for images'),
  video: f.textOrNull('default model for videos'),
})

const key = f.object({
  source: f.text('where the key comes from'),
  last_four: f.text('its last four characters; empty for a short one, and for one that is not read'),
})

/** The document of `init`. */
export type InitDocument = f.Infer<typeof initDocument>
export const initDocument = f.document(['init'], {
  profile: f.text('the profile that was set up'),
  base_url: f.text('address of the gateway'),
  gateway: f.textOrNull('what the gateway answered to a request for its models; null when it was not asked'),
  key: f.orNull(key, 'null: it is left to the environment'),
  models,
  changed: f.texts('the settings that were changed, by their names in the file'),
  written: f.texts('paths of the files that were changed'),
  test_exit_code: f.orNull(f.count('exit code of the test call'), 'null: no call was made'),
  completion: f.textOrNull('null: modelgate completion SHELL prints it'),
  warnings,
})
