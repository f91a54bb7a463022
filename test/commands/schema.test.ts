import { Command } from 'commander'
import { expect, test } from 'vitest'
import { registerSchema } from '../../src/commands/schema.ts'
import { outputSchemas, type OutputSchemaName } from '../../src/events/documents.ts'
import { OutputClosed } from '../../src/errors.ts'
import { manifestSchema } from '../../src/pipeline/manifest/manifest-schema.ts'
import { testContext } from '../support/test-context.ts'
import { runMain } from '../support/run-main.ts'

async function run(...argv: string[]) {
  const context = testContext()
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  registerSchema(program.command('schema'), context)
  await program.parseAsync(argv, { from: 'user' })
  return context.stdout.text
}

test.each<[string[], OutputSchemaName]>([
  [['schema'], 'output'],
  [['schema', 'output'], 'output'],
  [['schema', 'events'], 'events'],
  [['schema', 'error'], 'error'],
])('%j prints the schema %s', async (argv, name) => {
  expect(JSON.parse(await run(...argv))).toEqual(outputSchemas[name])
})

test('the schema of the manifest is printed, too', async () => {
  expect(JSON.parse(await run('schema', 'manifest'))).toEqual(manifestSchema())
})

test.each(['images', 'run-report', 'input'])('there is no schema %s', async (name) => {
  const { code, out, err } = await runMain(['schema', name])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toBe(
    `modelgate: The name must be one of output, events, error, manifest, not "${name}".\n` +
      '  hint: Every document of --json is described by: modelgate schema output\n',
  )
})

test('a reader that has gone is reported', async () => {
  const context = testContext()
  context.stdout.fail(new OutputClosed())
  const program = new Command('modelgate').exitOverride()
  registerSchema(program.command('schema'), context)
  await expect(program.parseAsync(['schema'], { from: 'user' })).rejects.toThrow(OutputClosed)
})
