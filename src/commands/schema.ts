import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { OutputSchemaName } from '../events/documents.ts'

/** The names of the schemas; a test compares them with the schemas themselves, which are loaded only on demand. */
export const schemaNames = [
  'output',
  'images',
  'videos',
  'waits',
  'jobs',
  'models',
  'inspections',
  'log',
  'call',
  'clearing',
  'usage',
  'help',
  'init',
  'settings',
  'places',
  'keys',
  'checks',
  'run',
  'run-changes',
  'run-report',
  'run-clean',
  'events',
  'error',
] as const satisfies readonly OutputSchemaName[]

/** `modelgate schema [name]`: describes what the program prints for programs. */
export function registerSchema(command: Command, context: Context): void {
  const name = command
    .createArgument(
      '[name]',
      'output: --json of a text command; events: a line of --jsonl; error: --json when a command fails; the others: --json of the commands that they are named after',
    )
    .choices(schemaNames)
    .default('output')
  command.addArgument(name).action((chosen: OutputSchemaName) => printSchema(context, chosen))
}

/** @throws what `Sink.drain` throws */
async function printSchema({ stdout }: Context, name: OutputSchemaName): Promise<void> {
  const { outputSchemas } = await import('../events/documents.ts')
  stdout.write(`${JSON.stringify(outputSchemas[name], undefined, 2)}\n`)
  await stdout.drain()
}
