import { fieldLimit } from './model.ts'
import {
  count,
  define,
  flag,
  list,
  numberOrNull,
  countOrNull,
  object,
  oneOf,
  orNull,
  text,
  textOrNull,
  texts,
  version,
  type Infer,
} from './output-schema.ts'

/** What the value of an option is. */
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

const argument = object({
  name: text('what the help calls it'),
  about: text('what it is'),
  required: flag('whether the command needs it'),
  repeatable: flag('whether it takes all words that follow'),
  values: orNull(texts('the words that are known'), 'null for any'),
})

const value = object({
  placeholder: text('what the help calls it'),
  type: oneOf(valueTypes, 'what it is'),
  values: orNull(texts('the words that are known'), 'null for any'),
  closed: flag('whether any other word is refused, whatever the model'),
  min: numberOrNull('smallest number'),
  max: numberOrNull('largest number'),
  max_length: countOrNull('most characters'),
})

const option = object({
  flag: text('its name, with dashes'),
  short: textOrNull('its short name, with a dash'),
  negation: textOrNull('the option that says the opposite'),
  about: text('what it does'),
  common: flag('whether it is an option of the program that means something of its own to this command'),
  value: orNull(value, 'null for a switch'),
  default: textOrNull('what holds without it, as it is written on a command line'),
  repeatable: flag('whether it may be given more than once'),
  conflicts: texts('options that cannot be given together with it'),
  field: textOrNull('the field of the request that it sets'),
  settings: list(
    object({ name: text('name in a configuration file'), environment: textOrNull('variable') }),
    'the settings that hold without it',
  ),
  limits: list(
    object({ family: text('family of models'), models: texts('known models of it'), limit: fieldLimit }),
    'what families of models take, where that is not what every model takes',
  ),
})

/** An option of a command. */
export type HelpOption = Infer<typeof option>

/** A command as `help --json` describes it. */
export type HelpCommand = Infer<typeof command.schema>
const command = define(
  'command',
  object({
    name: text('the words that call it, without the program itself; empty for the program'),
    about: text('what it does'),
    usage: text('how it is called'),
    group: textOrNull('what it is for, as the list of commands has it'),
    commands: texts('the commands below it, by their own names'),
    arguments: list(argument, 'in their order'),
    options: list(option, 'its own options'),
    common_options: texts('options of the program that apply to it'),
    examples: list(object({ line: text('to paste'), about: textOrNull('what it shows') }), 'examples'),
  }),
)

const ending = object({
  code: count('the exit code'),
  name: text('a stable word'),
  meaning: text('what happened'),
  advice: textOrNull('what a script may do'),
})

const topic = object({ name: text('what modelgate help takes'), about: text('what it explains') })

export const helpDefinitions = [command] as const

/** The document of `help --json`. */
export type HelpDocument = Infer<typeof helpDocument>
export const helpDocument = object({
  version,
  command: oneOf(['help'], 'the command that ran'),
  program: text('name of the program'),
  program_version: text('its version'),
  commands: list(command.reference, 'the command that was asked for and all below it; by default all'),
  exit_codes: list(ending, 'all that the program ends with'),
  environment: list(
    object({ variables: texts('names'), about: text('what it is'), setting: textOrNull('name in a file') }),
    'all that is read',
  ),
  topics: list(topic, 'help that belongs to no command'),
})
