import { Option, type Command } from 'commander'
import type { CommandInput, ConflictingNames } from '../../../contract/command-inputs.ts'
import { type Field, isList, wordsOf, type FieldFlag, type Violation } from '../../../contract/field.ts'
import { collect, helpFact, suggestWords } from '../options/common-options.ts'
import { nearestName } from '../../../nearest-name.ts'

export interface ContractFlag extends FieldFlag {
  /** The default, if the command decides it; otherwise the contract's. */
  readonly default?: string
}

const group = 'Fields of the request (JSON is inline, @file or @-):'

const [declareFlags, contractFlagsOf] = helpFact<
  readonly [flags: readonly ContractFlag[], conflicts: readonly ConflictingNames[]]
>([[], []])
export { contractFlagsOf }

/** Parsing checks and converts nothing, so that all problems are reported at once. */
export function addContractFlags(
  command: Command,
  flags: readonly ContractFlag[],
  conflicts: readonly ConflictingNames[] = [],
): void {
  declareFlags(command, [flags, conflicts])
  // What is written by hand before JSON.
  const isJson = ({ field }: ContractFlag) =>
    Number(placeholder(field) === 'json' && field.type !== 'boolean')
  for (const flag of flags.toSorted((one, other) => isJson(one) - isJson(other))) {
    const { name, field } = flag
    const about = describe(flag)
    if (field.type === 'boolean') {
      command.addOption(new Option(`--${name}`, `${about}; or --no-${name}`).helpGroup(group))
      command.addOption(new Option(`--no-${name}`, `the opposite of --${name}`).hideHelp())
    } else {
      // A field of one letter is a short option as well: `-n`.
      const short = name.length === 1 ? `-${name}, ` : ''
      const option = new Option(`${short}--${name} <${placeholder(field)}>`, about).helpGroup(group)
      suggestWords(option, wordsOf(field))
      command.addOption(isList(field) ? option.argParser(collect) : option)
    }
  }
}

/** Letter case is no slip, and another number is another value. */
export function misspeltValues(flags: readonly ContractFlag[], options: object): Violation[] {
  const digits = (text: string) => text.replaceAll(/\D/g, '')
  return flags.flatMap(({ name, path, field }) => {
    const known = wordsOf(field) ?? []
    const near = [valueOf(options, name)].flat().flatMap((given) => {
      if (typeof given !== 'string' || known.some((word) => word.toLowerCase() === given.toLowerCase()))
        return []
      const alike = known.filter((word) => digits(word) === digits(given))
      const meant = nearestName(given, alike, given.length < 6 ? 1 : 2)
      return meant === undefined ? [] : [`${JSON.stringify(given)} is unknown; did you mean ${meant}?`]
    })
    const problem = `${near[0]} Known values: ${known.join(', ')}`
    return near.length === 0 ? [] : [{ path: path.join('.'), kind: 'value', problem }]
  })
}

/** Commander keeps a flag under a name of its own. */
export function valueOf(options: object, name: string): unknown {
  const attribute = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return (options as Readonly<Record<string, unknown>>)[attribute]
}

function placeholder(field: Field): string {
  const types = typeof field.type === 'string' ? [field.type] : field.type
  if (isList(field)) return 'text'
  if (types.includes('integer') || types.includes('number')) return 'number'
  if (types.length > 1) return 'text|json'
  if (types[0] !== 'string') return 'json'
  return field.values === undefined && field.known === undefined ? 'text' : 'word'
}

function describe({ field, default: own }: ContractFlag): string {
  const byDefault = own ?? field.default
  const words = wordsOf(field)
  const facts = [
    ...(words === undefined || words.join(', ').length > 60 ? [] : [words.join(', ')]),
    ...(field.min === undefined || field.max === undefined ? [] : [`${field.min} to ${field.max}`]),
    ...(byDefault === undefined ? [] : [`default ${byDefault}`]),
    ...(isList(field) ? ['repeatable'] : []),
    ...(field.deprecated === undefined ? [] : [`deprecated: use ${field.deprecated}`]),
  ]
  return facts.length === 0 ? field.about : `${field.about} (${facts.join('; ')})`
}

export function inputOption(input: CommandInput & { readonly isList?: boolean }): Option {
  const { name, short, value, about, forms, isList: isRepeatable = false } = input
  const flags = `${short === undefined ? '' : `-${short}, `}--${name} <${value}>`
  const option = new Option(flags, `${about}${forms}${isRepeatable ? ' (repeatable)' : ''}`)
  return isRepeatable ? option.argParser(collect) : option
}
