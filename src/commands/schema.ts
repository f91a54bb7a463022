import type { Command } from 'commander'
import { addShared } from './shared/options/common-options.ts'
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
  'run-restore',
  'run-push',
  'run-clean',
  'run-worker',
  'assets',
  'events',
  'error',
] as const satisfies readonly OutputSchemaName[]

/** That of the file that `modelgate run` reads, beside those of what the program prints. */
const manifestName = 'manifest'
type SchemaName = OutputSchemaName | typeof manifestName

/** `modelgate schema [name]`: describes what the program prints for programs, and the manifest of `run`. */
export function registerSchema(command: Command, context: Context): void {
  const name = command
    .createArgument(
      '[name]',
      'output: --json of a text command; events: a line of --jsonl; error: --json when a command fails; manifest: the file of modelgate run; assets: run report --format json; the others: --json of the commands that they are named after',
    )
    .choices([...schemaNames, manifestName])
    .default('output')
  addShared(command, 'messages')
  command.addArgument(name).action((chosen: SchemaName) => printSchema(context, chosen))
}

/** @throws what `Sink.drain` throws */
async function printSchema({ stdout }: Context, name: SchemaName): Promise<void> {
  stdout.write(`${JSON.stringify(await schemaCalled(name), undefined, 2)}\n`)
  await stdout.drain()
}

async function schemaCalled(name: SchemaName): Promise<object> {
  if (name === manifestName) {
    const { manifestSchema } = await import('../pipeline/manifest/manifest-schema.ts')
    return manifestSchema()
  }
  const { outputSchemas } = await import('../events/documents.ts')
  return outputSchemas[name]
}
