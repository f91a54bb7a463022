import { expect, test } from 'vitest'
import { creatingCommands } from '../../src/contract/commands.ts'
import { flagsOf } from '../../src/contract/field-flags.ts'
import type { CreatingCommand } from '../../src/contract/command-inputs.ts'
import { fieldsOf } from '../../src/pipeline/manifest/manifest-fields.ts'
import { loadedProgram } from '../support/program-tree.ts'

interface Row {
  readonly path: string
  readonly creates: string
  readonly model: string
  /** A star follows those that take several, an exclamation mark those that are required. */
  readonly inputs: readonly string[]
  readonly excluded: readonly string[]
}

const rows: Readonly<Record<CreatingCommand, Row>> = {
  generate: {
    path: '/v1beta/models/{model}:streamGenerateContent',
    creates: 'text',
    model: 'path',
    inputs: ['system', 'attach*', 'schema'],
    excluded: ['candidate-count'],
  },
  respond: {
    path: '/v1/responses',
    creates: 'text',
    model: 'body, optional',
    inputs: ['attach*', 'schema'],
    excluded: ['stream', 'stream-options', 'background'],
  },
  'image create': {
    path: '/v1/images/generations',
    creates: 'image',
    model: 'body, optional',
    inputs: [],
    excluded: ['stream', 'partial-images', 'response-format'],
  },
  'image edit': {
    path: '/v1/images/edits',
    creates: 'image',
    model: 'body, optional',
    inputs: ['image*!', 'mask'],
    excluded: ['stream', 'partial-images', 'response-format'],
  },
  'video generate': {
    path: '/v1beta/models/{model}:predictLongRunning',
    creates: 'video',
    model: 'path',
    inputs: ['image', 'last-frame', 'reference*', 'video'],
    excluded: ['storage-uri', 'pubsub-topic'],
  },
  'video remix': {
    path: '/v1/videos/{video_id}/remix',
    creates: 'video',
    model: 'body',
    inputs: ['source!'],
    excluded: [],
  },
}

test.each(Object.entries(rows))('%s', (name, row) => {
  const { endpoint, creates, model, inputs, excluded } = creatingCommands[name as CreatingCommand]
  expect<Row>({
    path: endpoint.path,
    creates,
    model: model.location + (model.isOptional ? ', optional' : ''),
    inputs: inputs.map((input) => {
      const isList = 'isList' in input && input.isList
      return `${input.name}${isList ? '*' : ''}${input.required ? '!' : ''}`
    }),
    excluded: Object.keys(excluded),
  }).toEqual(row)
})

test.each(Object.keys(rows) as CreatingCommand[])(
  '%s has no field twice, and leaves out none that is',
  (name) => {
    const { endpoint, inputs, excluded } = creatingCommands[name]
    const flags = new Set(flagsOf(endpoint.fields).map((flag) => flag.name))
    expect(inputs.filter((input) => flags.has(input.name))).toEqual([])
    expect(Object.keys(excluded).filter((flag) => !flags.has(flag))).toEqual([])
  },
)

/** What a manifest has as fields, and the command line as arguments. */
const asArguments = new Set(['prompt', 'input', 'source'])

test.each(Object.keys(rows) as CreatingCommand[])('the fields of %s are its long flags', async (name) => {
  const program = await loadedProgram()
  let command = program
  for (const word of name.split(' ')) command = command.commands.find((inner) => inner.name() === word)!
  const flags = new Set([...command.options, ...program.options].map(({ long }) => long))
  const fields = [...fieldsOf(name).keys()].filter((field) => !asArguments.has(field))
  expect(fields.filter((field) => !flags.has(`--${field.replaceAll('_', '-')}`))).toEqual([])
})
