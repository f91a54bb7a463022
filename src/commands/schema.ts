import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { printLine } from './shared/call/print-document.ts'
import { addShared } from './shared/options/common-options.ts'

const names = ['output', 'events', 'error', 'manifest'] as const

/** `modelgate schema [name]`: describes what the program prints for programs, and the manifest of `run`. */
export function registerSchema(command: Command, context: Context): void {
  const name = command
    .createArgument(
      '[name]',
      'output: every document of --json, distinguished by its command; events: a line of --jsonl; error: --json when a command fails; manifest: the file of modelgate run',
    )
    .choices(names)
    .default('output')
  addShared(command, 'messages')
  command.addArgument(name).action(async (chosen: (typeof names)[number]) => {
    // Loads no more than is asked for.
    const schema =
      chosen === 'manifest'
        ? (await import('../pipeline/manifest/manifest-schema.ts')).manifestSchema()
        : (await import('../events/documents.ts')).outputSchemas[chosen]
    await printLine(context, JSON.stringify(schema, undefined, 2))
  })
}
