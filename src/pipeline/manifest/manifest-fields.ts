import type { CommandInput, CreatingCommand, FilesInput } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { type Field, type Fields, flagsOf } from '../../contract/field.ts'
import { lanes, type Lane } from './manifest.ts'

/** What a manifest holds, in the words of the contract's tables: reading it and its JSON Schema follow from this. */

const manifestVersion = 1

const maxVariants = 100

const place = { type: 'string', minLength: 1 } as const

const budget: Fields = {
  creates: { type: 'integer', min: 0, about: 'how much a run creates at most' },
  cost: {
    type: 'number',
    min: 0,
    about: 'what a run may cost, as the prices of the configuration estimate it',
  },
}

const concurrency: Fields = Object.fromEntries(
  lanes.map((lane): [Lane, Field] => [
    lane,
    {
      type: 'integer',
      min: 1,
      max: 256,
      about: `requests at the same time that make a result of this kind: ${lane}`,
    },
  ]),
)

export const manifestFields = {
  version: {
    type: 'integer',
    required: true,
    min: manifestVersion,
    max: manifestVersion,
    about: 'version of the rules that the manifest follows',
  },
  env: {
    type: 'array',
    items: { type: 'string', about: 'name of a variable' },
    about: 'the only environment variables that values may use, as ${env:NAME}',
  },
  vars: {
    type: 'object',
    about: 'texts that jobs share, as ${var:NAME}: each a text, or { file: PATH }',
  },
  gateway: { ...place, about: 'marks the results of this gateway as different from those of others' },
  budget: { type: 'object', fields: budget, about: 'what a run may create and cost' },
  lanes: { type: 'object', fields: concurrency, about: 'how many requests run at the same time' },
  lock_prompts: { type: 'boolean', default: false, about: 'keep the prompts in the lock' },
  defaults: { type: 'object', about: 'fields that the jobs of a command have unless they set them' },
  jobs: { type: 'object', required: true, about: 'what there should be' },
} as const satisfies Fields

interface Assertion extends Field {
  readonly of: readonly Lane[]
}

const media = ['image', 'video'] as const

export const assertions: Readonly<Record<string, Assertion>> = {
  schema: { ...place, of: ['text'], about: 'JSON Schema that the answer matches: a path' },
  min_chars: { type: 'integer', min: 1, of: ['text'], about: 'fewest characters' },
  matches: { ...place, of: ['text'], about: 'regular expression that the answer matches somewhere' },
  width: { type: 'integer', min: 1, of: media, about: 'width in pixels' },
  height: { type: 'integer', min: 1, of: media, about: 'height in pixels' },
  max_bytes: { type: 'integer', min: 1, of: lanes, about: 'largest size of the file' },
  has_alpha: { type: 'boolean', of: ['image'], about: 'whether there is an alpha channel' },
  min_seconds: { type: 'number', min: 0, of: ['video'], about: 'shortest duration' },
  not_duplicate: { type: 'boolean', of: lanes, about: 'no other output has the same bytes' },
}

export const usualElements = 20

export const jobFields = {
  out: {
    ...place,
    required: true,
    about: 'file below the folder of the manifest; {index} and {ext} as with -o',
  },
  each: {
    type: ['string', 'array'],
    minLength: 1,
    about:
      'one instance a row: a path (CSV, a JSON array: .json, JSON lines: .jsonl), a list, or @job: the JSON array that a text job writes',
  },
  max_instances: {
    type: 'integer',
    min: 1,
    max: 1000,
    default: usualElements,
    about: 'with each: "@job", how many elements the array has at most; with more, nothing is made of it',
  },
  alt: { type: 'string', about: 'what is to be seen, for people who do not see it' },
  variants: {
    type: 'integer',
    min: 1,
    max: maxVariants,
    default: 1,
    about: 'how many candidates are made, of which one is picked',
  },
  pick: { type: 'integer', min: 1, max: maxVariants, about: 'number of the candidate that is the output' },
  assert: { type: 'object', fields: assertions, about: 'what a result has to be before it is locked' },
  accept_mismatch: {
    type: 'boolean',
    default: false,
    about: 'take a result although it is not what was asked for',
  },
  distinct: {
    type: 'boolean',
    default: false,
    about: 'make each instance its own, even where its request is equal to another',
  },
  frozen: { type: 'boolean', default: false, about: 'never generate it' },
  on_unknown: {
    type: 'string',
    values: ['stop', 'retry'],
    about: 'when nobody knows what became of a request: stop (the default), or retry (the default of text)',
  },
} as const satisfies Fields

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
