import { fieldLimit } from './model.ts'
import * as f from './fields.ts'

const option = f.object({
  flag: f.text('its name, with dashes'),
  short: f.textOrNull('its short name, with a dash'),
  negation: f.textOrNull('the option that says the opposite'),
  about: f.text('what it does'),
  common: f.flag('whether it is an option of the program that means something of its own to this command'),
  value: f.orNull('null for a switch', {
    placeholder: f.text('what the help calls it'),
    type: f.oneOf(
      [
        'text',
        'word',
        'integer',
        'number',
        'seconds',
        'boolean',
        'path',
        'url',
        'path or url',
        'json',
        'text or json',
      ],
      'what it is',
    ),
    values: f.orNull('null for any', f.texts('the words that are known')),
    closed: f.flag('whether any other word is refused, whatever the model'),
    min: f.numberOrNull('smallest number'),
    max: f.numberOrNull('largest number'),
    max_length: f.countOrNull('most characters'),
  }),
  default: f.textOrNull('what holds without it, as it is written on a command line'),
  repeatable: f.flag('whether it may be given more than once'),
  conflicts: f.texts('options that cannot be given together with it'),
  field: f.textOrNull('the field of the request that it sets'),
  settings: f.list('the settings that hold without it', {
    name: f.text('name in a configuration file'),
    environment: f.textOrNull('variable'),
  }),
  limits: f.list('what families of models take, where that is not what every model takes', {
    family: f.text('family of models'),
    models: f.texts('known models of it'),
    limit: fieldLimit,
  }),
})

export type HelpOption = f.Infer<typeof option>

export type HelpCommand = f.Infer<typeof command>
const command = f.shape('command', {
  name: f.text('the words that call it, without the program itself; empty for the program'),
  about: f.text('what it does'),
  usage: f.text('how it is called'),
  group: f.textOrNull('what it is for, as the list of commands has it'),
  commands: f.texts('the commands below it, by their own names'),
  arguments: f.list('in their order', {
    name: f.text('what the help calls it'),
    about: f.text('what it is'),
    required: f.flag('whether the command needs it'),
    repeatable: f.flag('whether it takes all words that follow'),
    values: f.orNull('null for any', f.texts('the words that are known')),
  }),
  options: f.list('its own options', option),
  common_options: f.texts('options of the program that apply to it'),
  examples: f.list('examples', { line: f.text('to paste'), about: f.textOrNull('what it shows') }),
})

export type HelpDocument = f.Infer<typeof helpDocument>
export const helpDocument = f.plainDocument(['help'], {
  program: f.text('name of the program'),
  program_version: f.text('its version'),
  commands: f.list('the command that was asked for and all below it; by default all', command),
  exit_codes: f.list('all that the program ends with', {
    code: f.count('the exit code'),
    name: f.text('a stable word'),
    meaning: f.text('what happened'),
    advice: f.textOrNull('what a script may do'),
  }),
  environment: f.list('all that is read', {
    variables: f.texts('names'),
    about: f.text('what it is'),
    setting: f.textOrNull('name in a file'),
  }),
  topics: f.list('help that belongs to no command', {
    name: f.text('what modelgate help takes'),
    about: f.text('what it explains'),
  }),
})
