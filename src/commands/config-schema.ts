import { Option, type Command } from 'commander'
import { configSchema } from '../config/file-schema.ts'
import type { Context } from '../context.ts'
import { addShared } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { printLine } from './shared/call/print-document.ts'

/** `modelgate config schema`: describes configuration files for editors. */
export function registerConfigSchema(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config schema > modelgate.schema.json', 'for an editor'],
    ['modelgate config schema --project'],
  ])
  command.addOption(new Option('--project', 'of a project file, which has fewer settings'))
  addShared(command, 'messages')
  command.action(async ({ project }: { readonly project?: true }) => {
    const schema = await configSchema(project ? 'project' : 'user')
    await printLine(context, JSON.stringify(schema, undefined, 2))
  })
}
