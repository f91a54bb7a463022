import {
  oneOf,
  count,
  object,
  orNull,
  text,
  textOrNull,
  texts,
  version,
  type Infer,
} from './output-schema.ts'
import { warnings } from './text.ts'

const models = object({
  text: textOrNull('default model for text'),
  image: textOrNull('default model for images'),
  video: textOrNull('default model for videos'),
})

const key = object({
  source: text('where the key comes from'),
  last_four: text('its last four characters; empty for a short one, and for one that is not read'),
})

/** The document of `init`. */
export type InitDocument = Infer<typeof initDocument>
export const initDocument = object({
  version,
  command: oneOf(['init'], 'the command that ran'),
  profile: text('the profile that was set up'),
  base_url: text('address of the gateway'),
  gateway: textOrNull('what the gateway answered to a request for its models; null when it was not asked'),
  key: orNull(key, 'null: it is left to the environment'),
  models,
  changed: texts('the settings that were changed, by their names in the file'),
  written: texts('paths of the files that were changed'),
  test_exit_code: orNull(count('exit code of the test call'), 'null: no call was made'),
  completion: textOrNull('null: modelgate completion SHELL prints it'),
  warnings,
})
