import type { CommandInput, CreatingCommand, FilesInput } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import {
  field,
  flag,
  flagsOf,
  list,
  number,
  object,
  text,
  whole,
  type Field,
  type Fields,
} from '../../contract/field.ts'
import { lanes, type Lane } from './manifest.ts'

const nonEmpty = { minLength: 1 } as const

/** What a manifest holds, in the words of the contract's tables: reading it and its JSON Schema follow from this. */
export const manifestFields = {
  version: whole('version of the rules that the manifest follows', { required: true, min: 1, max: 1 }),
  env: list('the only environment variables that values may use, as ${env:NAME}', text('name of a variable')),
  vars: object('texts that jobs share, as ${var:NAME}: each a text, or { file: PATH }'),
  gateway: text('marks the results of this gateway as different from those of others', nonEmpty),
  budget: object('what a run may create and cost', {
    creates: whole('how much a run creates at most', { min: 0 }),
    cost: number('what a run may cost, as the prices of the configuration estimate it', { min: 0 }),
  }),
  lanes: object('how many requests run at the same time', Object.fromEntries(lanes.map(concurrency))),
  lock_prompts: flag('keep the prompts in the lock', { default: false }),
  defaults: object('fields that the jobs of a command have unless they set them'),
  jobs: object('what there should be', undefined, { required: true }),
} satisfies Fields

function concurrency(lane: Lane): [Lane, Field] {
  const about = `requests at the same time that make a result of this kind: ${lane}`
  return [lane, whole(about, { min: 1, max: 256 })]
}

interface Assertion extends Field {
  readonly of: readonly Lane[]
}

const media = ['image', 'video'] as const

export const assertions: Readonly<Record<string, Assertion>> = {
  schema: { of: ['text'], ...text('JSON Schema that the answer matches: a path', nonEmpty) },
  min_chars: { of: ['text'], ...whole('fewest characters', { min: 1 }) },
  matches: { of: ['text'], ...text('regular expression that the answer matches somewhere', nonEmpty) },
  width: { of: media, ...whole('width in pixels', { min: 1 }) },
  height: { of: media, ...whole('height in pixels', { min: 1 }) },
  max_bytes: { of: lanes, ...whole('largest size of the file', { min: 1 }) },
  has_alpha: { of: ['image'], ...flag('whether there is an alpha channel') },
  min_seconds: { of: ['video'], ...number('shortest duration', { min: 0 }) },
  not_duplicate: { of: lanes, ...flag('no other output has the same bytes') },
}

export const usualElements = 20

const candidates = { min: 1, max: 100 }

export const jobFields = {
  out: text('file below the folder of the manifest; {index} and {ext} as with -o', {
    required: true,
    ...nonEmpty,
  }),
  each: field(
    ['string', 'array'],
    'one instance a row: a path (CSV, a JSON array: .json, JSON lines: .jsonl), a list, or @job: the JSON array that a text job writes',
    nonEmpty,
  ),
  max_instances: whole(
    'with each: "@job", how many elements the array has at most; with more, nothing is made of it',
    { min: 1, max: 1000, default: usualElements },
  ),
  alt: text('what is to be seen, for people who do not see it'),
  variants: whole('how many candidates are made, of which one is picked', { ...candidates, default: 1 }),
  pick: whole('number of the candidate that is the output', candidates),
  assert: object('what a result has to be before it is locked', assertions),
  accept_mismatch: flag('take a result although it is not what was asked for', { default: false }),
  distinct: flag('make each instance its own, even where its request is equal to another', {
    default: false,
  }),
  frozen: flag('never generate it', { default: false }),
  on_unknown: text(
    'when nobody knows what became of a request: stop (the default), or retry (the default of text)',
    { values: ['stop', 'retry'] },
  ),
} satisfies Fields

export const defaultLanes: Readonly<Record<Lane, number>> = { text: 8, image: 4, video: 2 }

export const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

export const jobName = /^[a-z0-9][a-z0-9_-]{0,63}$/

export type CommandField = {
  /** With underscores. */
  readonly name: string
  readonly about: string
} & (
  | { readonly kind: 'value' | 'text'; readonly field: Field; readonly path: readonly string[] | null }
  | { readonly kind: 'files'; readonly input: FilesInput }
  | { readonly kind: 'schema' | 'source' }
)

export const nouns = {
  text: ['a text', 'texts'],
  image: ['an image', 'images'],
  video: ['a video', 'videos'],
} as const

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
  return kind === 'schema' || kind === 'source' ? { kind, name, about } : ownField(name, about)
}

function isFreeText({ type, values, known: words, size }: Field): boolean {
  return (type === 'string' || type.includes('string')) && !values && !words && !size
}
