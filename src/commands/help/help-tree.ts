import type { Command, Option } from 'commander'
import { flagName as settingFlag, settingNames, settingTable } from '../../config/setting-table.ts'
import { families } from '../../contract/families.ts'
import { familyEndpoints, type Field, isList, wordsOf } from '../../contract/field.ts'
import { knownModels } from '../../contract/known-models.ts'
import { exitCodes } from '../../errors.ts'
import type { HelpCommand, HelpDocument, HelpOption } from '../../events/help-document.ts'
import { outputVersion } from '../../events/version.ts'
import { limitOf } from '../../operations/list-models.ts'
import { groupCommands, pathOf } from '../shared/help/command-help.ts'
import { collect, isShared, examplesOf, nameOf } from '../shared/options/common-options.ts'
import { contractFlagsOf, type ContractFlag } from '../shared/request/contract-flags.ts'
import { environmentRows, terminalVariables, topics } from './topics.ts'

/** Whatever a command declares is in it. @param program with every command loaded */
export function helpDocument(program: Command, described: Command = program): HelpDocument {
  return {
    version: outputVersion,
    command: 'help',
    program: program.name(),
    program_version: program.version() ?? '',
    commands: withDescendants(described).map((command) => describeCommand(program, command)),
    exit_codes: Object.entries(exitCodes).map(([name, { code, meaning, advice }]) => ({
      code,
      name: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      meaning,
      advice: advice === '' ? null : advice,
    })),
    environment: [
      ...environmentRows(),
      [terminalVariables.join(', '), 'set by terminals: what they can show, and which one it is'] as const,
    ].map(([names, about]) => {
      const variables = names.split(', ')
      const setting = settingNames.find((name) => settingTable[name].env === variables[0])
      return { variables, about, setting: setting === undefined ? null : settingTable[setting].file }
    }),
    topics: Object.entries(topics).map(([name, { about }]) => ({ name, about })),
  }
}

function withDescendants(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withDescendants)]
}

function describeCommand(program: Command, command: Command): HelpCommand {
  const name = nameOf(command)
  const options = command.options.filter(({ long, hidden }) => long !== '--version' && !hidden)
  const group = groupCommands(program).find(({ commands }) => commands.includes(command))
  return {
    name,
    about: command.description(),
    usage: `${pathOf(command)} ${command.usage()}`,
    group: group?.heading ?? null,
    commands: command.commands.map((child) => child.name()),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      about: argument.description,
      required: argument.required,
      repeatable: argument.variadic,
      values: argument.argChoices ?? null,
    })),
    options: options.map((option) => describeOption(name, command, option)),
    common_options: options.filter(isShared).map(flagOf),
    examples: examplesOf(command).map(([line, about]) => ({ line, about: about ?? null })),
  }
}

const flagOf = ({ long }: Option) => long!

function describeOption(name: string, command: Command, option: Option): HelpOption {
  const [flags, conflicts] = contractFlagsOf(command)
  const flag = flagOf(option)
  const contract = flags.find((one) => `--${one.name}` === flag)
  const settings = settingsOf(name, flag)
  const opposite = command.options.find(({ long }) => long === flag.replace('--', '--no-'))
  // The parser's types leave these out.
  const { conflictsWith } = option as Option & { readonly conflictsWith: readonly string[] }
  return {
    flag,
    short: option.short ?? null,
    negation: opposite === undefined ? null : flagOf(opposite),
    value: valueOf(option, contract?.field),
    default: defaultOf(option, contract?.default ?? contract?.field.default ?? settings[0]?.default),
    repeatable: option.parseArg === collect,
    conflicts: [
      ...conflictsWith.map((other) => `--${dashed(other)}`),
      ...conflicts
        .filter((names) => names.some((own) => `--${own}` === flag))
        .map(([one, other]) => `--${flag === `--${one}` ? other : one}`),
    ],
    field: contract === undefined ? null : contract.path.join('.'),
    settings: settings.map(({ file, env }) => ({ name: file, environment: env ?? null })),
    limits: contract === undefined ? [] : familyLimits(name, contract),
    about: option.description,
    common: isShared(option),
  }
}

const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function valueOf(option: Option, field: Field | undefined): HelpOption['value'] {
  const placeholder = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1]
  if (placeholder === undefined) return null
  const bounds = field?.items ?? field
  return {
    placeholder,
    type: typeOf(placeholder, field),
    values: (field === undefined ? option.argChoices : wordsOf(field)?.slice()) ?? null,
    closed:
      field === undefined
        ? option.argChoices !== undefined && option.parseArg !== undefined && option.parseArg !== collect
        : bounds?.values !== undefined,
    min: bounds?.min ?? null,
    max: bounds?.max ?? null,
    max_length: field === undefined || isList(field) ? null : (field.maxLength ?? null),
  }
}

type ValueType = NonNullable<HelpOption['value']>['type']

/** By the words that the help has for values. */
const placeholderTypes: Readonly<Record<string, ValueType>> = {
  file: 'path',
  folder: 'path',
  dir: 'path',
  number: 'number',
  seconds: 'seconds',
  json: 'json',
  url: 'url',
  word: 'word',
  mode: 'word',
  state: 'word',
  amount: 'number',
  'file|url': 'path or url',
  'file|uri': 'path or url',
  'text|json': 'text or json',
}

function typeOf(placeholder: string, field: Field | undefined): ValueType {
  if (field?.type === 'integer') return 'integer'
  return placeholderTypes[placeholder] ?? 'text'
}

function defaultOf(option: Option, known: unknown): string | null {
  const own = known ?? (option.negate ? undefined : (option.defaultValue as unknown))
  return ['string', 'number', 'boolean'].includes(typeof own) ? String(own) : null
}

/** Which of the three models a command takes. */
const modelKinds: Readonly<Record<string, string>> = { image: 'imageModel', video: 'videoModel' }

function settingsOf(name: string, flag: string) {
  const model = modelKinds[name.split(' ')[0]!] ?? 'textModel'
  const isOther = (setting: string) => flag === '--model' && name !== '' && setting !== model
  return settingNames
    .filter((setting) => !isOther(setting))
    .map((setting) => settingTable[setting])
    .filter(({ flag: own }) => own !== undefined && settingFlag(own) === flag)
}

/** What each built-in family takes in a field, where that differs from the rules for every model. */
function familyLimits(name: string, { path, field }: ContractFlag): HelpOption['limits'] {
  const endpoint = familyEndpoints.find((one) => one === name)
  const [key] = path
  if (endpoint === undefined || key === undefined || path.length > 1) return []
  return families.flatMap(({ id: family, endpoints }) => {
    const own = endpoints[endpoint]?.[key]
    const limit = own === undefined ? undefined : limitOf(key, field, own)
    if (limit === undefined) return []
    const models = knownModels().filter((model) => model.family?.id === family)
    return [{ family, models: models.map(({ id }) => id), limit }]
  })
}
