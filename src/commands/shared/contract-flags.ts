import { Option, type Command } from 'commander'
import type { Context } from '../../context.ts'
import { flagName, type Field, type Fields } from '../../contract/field.ts'
import { collect } from './common-options.ts'
import { fieldValue, isList } from './field-value.ts'
import type { ProblemList } from './problem-list.ts'
import { setField } from './request-body.ts'
import { suggestWords } from './suggested-words.ts'

/** A flag that sets one field of the request body. */
export interface ContractFlag {
  /** Without dashes: `top-logprobs`. */
  readonly name: string
  readonly path: readonly string[]
  readonly field: Field
  /** What holds when the flag is not given, where the command itself decides that; else the contract's default. */
  readonly default?: string
}

/** One flag for every field of a request, and for the known inner fields of its objects. */
export function flagsOf(fields: Fields, path: readonly string[] = []): ContractFlag[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const own =
      field.flag === false ? [] : [{ name: field.flag ?? flagName(key), path: [...path, key], field }]
    return [...own, ...flagsOf(field.fields ?? {}, [...path, key])]
  })
}

const group = 'Fields of the request (JSON is inline, @file or @-):'

/** Declares the flags on a command; nothing is checked or converted while parsing, so that all problems can be told at once. */
export function addContractFlags(command: Command, flags: readonly ContractFlag[]): void {
  for (const flag of flags) {
    const { name, field } = flag
    const about = describe(flag)
    if (field.type === 'boolean') {
      command.addOption(new Option(`--${name}`, `${about}; or --no-${name}`).helpGroup(group))
      command.addOption(new Option(`--no-${name}`, `the opposite of --${name}`).hideHelp())
    } else {
      const option = new Option(`${spelled(name)} <${placeholder(field)}>`, about).helpGroup(group)
      suggestWords(option, wordsOf(field))
      command.addOption(isList(field) ? option.argParser(collect) : option)
    }
  }
}

/**
 * Puts the given flags into the body, over what is there; a flag whose JSON cannot be read becomes a problem.
 * @param options of the command alone: the program has options of the same name (`--no-input` beside `--input`)
 */
export async function applyContractFlags(
  context: Context,
  flags: readonly ContractFlag[],
  options: Readonly<Record<string, unknown>>,
  body: Record<string, unknown>,
  problems: ProblemList,
): Promise<void> {
  for (const { name, path, field } of flags) {
    const given = options[attribute(name)]
    if (given === undefined) continue
    await problems.step(async () => {
      const flag = `--${name}`
      setField(body, path, await fieldValue(context, flag, field, given), flag)
    })
  }
}

/** The name under which commander keeps a flag's value. */
export function attribute(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

function placeholder(field: Field): string {
  const types = typeof field.type === 'string' ? [field.type] : field.type
  if (isList(field)) return 'text'
  if (types.includes('integer') || types.includes('number')) return 'number'
  if (types.length > 1) return 'text|json'
  if (types[0] !== 'string') return 'json'
  return field.values === undefined && field.known === undefined ? 'text' : 'word'
}

/** The words that a value may be, where the contract lists them. */
function wordsOf(field: Field): readonly string[] | undefined {
  return field.values ?? field.known ?? field.items?.values ?? field.items?.known
}

function describe({ field, default: own }: ContractFlag): string {
  const byDefault = own ?? field.default
  const words = wordsOf(field)
  const facts = [
    ...(words === undefined || words.join(', ').length > 90 ? [] : [words.join(', ')]),
    ...(field.min === undefined || field.max === undefined ? [] : [`${field.min} to ${field.max}`]),
    ...(byDefault === undefined ? [] : [`default ${byDefault}`]),
    ...(isList(field) ? ['repeatable'] : []),
    ...(field.deprecated === undefined ? [] : [`deprecated: use ${field.deprecated}`]),
  ]
  return facts.length === 0 ? field.about : `${field.about} (${facts.join('; ')})`
}

/** A field of one letter is a short option as well: `-n`. */
function spelled(name: string): string {
  return name.length === 1 ? `-${name}, --${name}` : `--${name}`
}
