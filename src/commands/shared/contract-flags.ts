import { Option, type Command } from 'commander'
import type { Context } from '../../context.ts'
import { flagName, type Field, type Fields } from '../../contract/field.ts'
import { collect } from './common-options.ts'
import { parseJsonFlag } from './json-value.ts'
import type { ProblemList } from './problem-list.ts'
import { setField } from './request-body.ts'
import { suggestWords } from './suggested-words.ts'

/** A flag that sets one field of the request body. */
export interface ContractFlag {
  /** Without dashes: `top-logprobs`. */
  readonly name: string
  readonly path: readonly string[]
  readonly field: Field
}

/** One flag for every field of a request, and for the known inner fields of its objects. */
export function flagsOf(fields: Fields, path: readonly string[] = []): ContractFlag[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const own =
      field.flag === false ? [] : [{ name: field.flag ?? flagName(key), path: [...path, key], field }]
    return [...own, ...flagsOf(field.fields ?? {}, [...path, key])]
  })
}

/** Declares the flags on a command; nothing is checked or converted while parsing, so that all problems can be told at once. */
export function addContractFlags(command: Command, flags: readonly ContractFlag[]): void {
  for (const { name, field } of flags) {
    const about = describe(field)
    if (field.type === 'boolean') {
      command.addOption(new Option(`--${name}`, about).helpGroup('Fields of the request:'))
      command.addOption(new Option(`--no-${name}`, `the opposite of --${name}`).hideHelp())
    } else {
      const option = new Option(`--${name} <${placeholder(field)}>`, about).helpGroup(
        'Fields of the request:',
      )
      suggestWords(option, wordsOf(field))
      command.addOption(isList(field) ? option.argParser(collect) : option)
    }
  }
}

/** Puts the given flags into the body, over what is there; a flag whose JSON cannot be read becomes a problem. */
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
    await problems.step(async () => setField(body, path, await valueOf(context, `--${name}`, field, given)))
  }
}

/** The name under which commander keeps a flag's value. */
export function attribute(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** Lists of plain texts are given by repeating the flag. */
function isList(field: Field): boolean {
  return field.type === 'array' && field.items?.type === 'string'
}

async function valueOf(context: Context, flag: string, field: Field, given: unknown): Promise<unknown> {
  if (typeof given === 'boolean') return given
  if (Array.isArray(given)) return listOf(context, flag, given as string[])
  const text = given as string
  const types: readonly string[] = typeof field.type === 'string' ? [field.type] : field.type
  if (field.nullable && text === 'null') return null
  if (types.includes('number') || types.includes('integer')) return numberOf(text)
  const plain = types.includes('string')
  // Where both text and JSON are allowed, JSON shows itself by its first character.
  if (types.length > 1 && plain) return /^\s*[[{@]/.test(text) ? parseJsonFlag(context, flag, text) : text
  return plain ? text : parseJsonFlag(context, flag, text)
}

async function listOf(context: Context, flag: string, given: readonly string[]): Promise<unknown> {
  const only = given.length === 1 ? given[0]! : ''
  return /^\s*[[@]/.test(only) ? parseJsonFlag(context, flag, only) : given
}

/** What is no number stays text, and the check against the contract says so with all other problems. */
function numberOf(text: string): unknown {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
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

function describe(field: Field): string {
  const words = wordsOf(field)
  const facts = [
    ...(words === undefined || words.join(', ').length > 90 ? [] : [words.join(', ')]),
    ...(field.min === undefined || field.max === undefined ? [] : [`${field.min} to ${field.max}`]),
    ...(field.default === undefined ? [] : [`default ${field.default}`]),
    ...(field.deprecated === undefined ? [] : [`deprecated: use ${field.deprecated}`]),
  ]
  return facts.length === 0 ? field.about : `${field.about} (${facts.join('; ')})`
}
