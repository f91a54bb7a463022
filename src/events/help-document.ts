import { fieldLimit } from './model.ts'
import * as f from './fields.ts'

export const valueTypes = [
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
] as const

const argument = f.object({
  name: f.text('what the help calls it'),
  about: f.text('what it is'),
  required: f.flag('whether the command needs it'),
  repeatable: f.flag('whether it takes all words that follow'),
  values: f.orNull(f.texts('the words that are known'), 'null for any'),
})

const value = f.object({
  placeholder: f.text('what the help calls it'),
  type: f.oneOf(valueTypes, 'what it is'),
  values: f.orNull(f.texts('the words that are known'), 'null for any'),
  closed: f.flag('whether any other word is refused, whatever the model'),
  min: f.numberOrNull('smallest number'),
  max: f.numberOrNull('largest number'),
  max_length: f.countOrNull('most characters'),
})

const option = f.object({
  flag: f.text('its name, with dashes'),
  short: f.textOrNull('its short name, with a dash'),
  negation: f.textOrNull('the option that says the opposite'),
  about: f.text('what it does'),
  common: f.flag('whether it is an option of the program that means something of its own to this command'),
  value: f.orNull(value, 'null for a switch'),
  default: f.textOrNull('what holds without it, as it is written on a command line'),
  repeatable: f.flag('whether it may be given more than once'),
  conflicts: f.texts('options that cannot be given together with it'),
  field: f.textOrNull('the field of the request that it sets'),
  settings: f.list(
    f.object({ name: f.text('name in a configuration file'), environment: f.textOrNull('variable') }),
    'the settings that hold without it',
  ),
  limits: f.list(
    f.object({
      family: f.text('family of models'),
      models: f.texts('known models of it'),
      limit: fieldLimit,
    }),
    'what families of models take, where that is not what every model takes',
  ),
})

export type HelpOption = f.Infer<typeof option>

export type HelpCommand = f.Infer<typeof command>
const command = f.shape('command', {
  name: f.text('the words that call it, without the program itself; empty for the program'),
  about: f.text('what it does'),
  usage: f.text('how it is called'),
  group: f.textOrNull('what it is for, as the list of commands has it'),
  commands: f.texts('the commands below it, by their own names'),
  arguments: f.list(argument, 'in their order'),
  options: f.list(option, 'its own options'),
  common_options: f.texts('options of the program that apply to it'),
  examples: f.list(f.object({ line: f.text('to paste'), about: f.textOrNull('what it shows') }), 'examples'),
})

const ending = f.object({
  code: f.count('the exit code'),
  name: f.text('a stable word'),
  meaning: f.text('what happened'),
  advice: f.textOrNull('what a script may do'),
})

const topic = f.object({ name: f.text('what modelgate help takes'), about: f.text('what it explains') })

export type HelpDocument = f.Infer<typeof helpDocument>
export const helpDocument = f.document(['help'], {
  program: f.text('name of the program'),
  program_version: f.text('its version'),
  commands: f.list(command, 'the command that was asked for and all below it; by default all'),
  exit_codes: f.list(ending, 'all that the program ends with'),
  environment: f.list(
    f.object({
      variables: f.texts('names'),
      about: f.text('what it is'),
      setting: f.textOrNull('name in a file'),
    }),
    'all that is read',
  ),
  topics: f.list(topic, 'help that belongs to no command'),
})
