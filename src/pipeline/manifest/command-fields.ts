import type { CommandInput, CreatingCommand, FilesInput } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { flagsOf } from '../../contract/field-flags.ts'
import type { Field } from '../../contract/field.ts'

/** A field of a command in a manifest. */
export type CommandField = {
  /** With underscores. */
  readonly name: string
  readonly about: string
} & (
  | { readonly kind: 'value' | 'text'; readonly field: Field; readonly path: readonly string[] | null }
  | { readonly kind: 'files'; readonly input: FilesInput }
  | { readonly kind: 'schema' | 'source' }
)

/** Results in messages: one of them, and many. */
export const nouns = {
  text: ['a text', 'texts'],
  image: ['an image', 'images'],
  video: ['a video', 'videos'],
} as const

/** The name that a flag has in a manifest. */
export function fieldName(flag: string): string {
  return flag.replaceAll('-', '_')
}

const known = new Map<CreatingCommand, ReadonlyMap<string, CommandField>>()

/** The fields that a command takes in a manifest, by their names: the command's own inputs first. */
export function fieldsOf(command: CreatingCommand): ReadonlyMap<string, CommandField> {
  const fields = known.get(command) ?? newFields(command)
  known.set(command, fields)
  return fields
}

/** Why a name is no field in a manifest, though it is one on the command line: a sentence. */
export function exclusionOf(command: CreatingCommand, name: string): string | undefined {
  const { excluded } = creatingCommands[command]
  const flag = name.replaceAll('_', '-')
  return Object.hasOwn(excluded, flag) ? excluded[flag] : undefined
}

function newFields(command: CreatingCommand): ReadonlyMap<string, CommandField> {
  const { endpoint, prompt, inputs, excluded } = creatingCommands[command]
  const flags = flagsOf(endpoint.fields).filter(({ name }) => !Object.hasOwn(excluded, name))
  const fields = [
    // What is said and the model belong to each command, in the body or not.
    ownField(prompt.name, prompt.about),
    ownField('model', 'model to use'),
    ...inputs.map(inputField),
    ...flags.map(({ name, path, field }): CommandField => {
      const kind = isFreeText(field) && name !== 'model' ? 'text' : 'value'
      return { kind, name: fieldName(name), about: field.about, field, path }
    }),
  ]
  return new Map(fields.map((field) => [field.name, field]))
}

/** A field whose place in the body is not its own: the contract's, which comes later, replaces it. */
function ownField(name: string, about: string): CommandField {
  const kind = name === 'model' ? 'value' : 'text'
  return { kind, name, about, field: { type: 'string', minLength: 1, about }, path: null }
}

function inputField(input: CommandInput | FilesInput): CommandField {
  const name = fieldName(input.name)
  const { about, kind } = input
  if ('media' in input) return { kind: 'files', name, about, input }
  return kind === 'schema' || kind === 'source'
    ? { kind, name, about }
    : { kind: 'text', name, about, field: { type: 'string', minLength: 1, about }, path: null }
}

/** Whether it takes any text, not one of some words. */
function isFreeText({ type, values, known: words, size }: Field): boolean {
  return (type === 'string' || type.includes('string')) && !values && !words && !size
}
