import { expect, test } from 'vitest'
import { creatingCommands } from '../../src/contract/commands.ts'
import { flagsOf } from '../../src/contract/field.ts'
import type { CreatingCommand } from '../../src/contract/command-inputs.ts'
import { fieldsOf } from '../../src/pipeline/manifest/manifest-fields.ts'
import { loadedProgram } from '../support/program-tree.ts'

const commands = Object.keys(creatingCommands) as CreatingCommand[]

test.each(commands)('%s has no field twice, and leaves out none that is', (name) => {
  const { endpoint, inputs, excluded } = creatingCommands[name]
  const flags = new Set(flagsOf(endpoint.fields).map((flag) => flag.name))
  expect(inputs.filter((input) => flags.has(input.name))).toEqual([])
  expect(Object.keys(excluded).filter((flag) => !flags.has(flag))).toEqual([])
})

/** What a manifest has as fields, and the command line as arguments. */
const asArguments = new Set(['prompt', 'input', 'source'])

test.each(commands)('the fields of %s are its long flags', async (name) => {
  const program = await loadedProgram()
  let command = program
  for (const word of name.split(' ')) command = command.commands.find((inner) => inner.name() === word)!
  const flags = new Set([...command.options, ...program.options].map(({ long }) => long))
  const fields = [...fieldsOf(name).keys()].filter((field) => !asArguments.has(field))
  expect(fields.filter((field) => !flags.has(`--${field.replaceAll('_', '-')}`))).toEqual([])
})
