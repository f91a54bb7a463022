import type { Command } from 'commander'
import type { Context } from '../src/context.ts'
import type { HelpPage } from '../src/output/help-page.ts'

/** No command runs, so nothing of the context is asked for. */
const context = {} as Context

/** The page of `modelgate --help`, as the program makes it without a build. */
export async function helpPage(version: string): Promise<HelpPage> {
  const program = await programOf(version)
  const { commandPage } = await import('../src/commands/shared/help/command-help.ts')
  return commandPage(program, program.createHelp())
}

/** What can be completed, as JSON: of every command what the code that answers a TAB reads. */
export async function completedCommands(version: string): Promise<string> {
  const { helpDocument } = await import('../src/commands/help/help-tree.ts')
  const { commands } = helpDocument(await wholeProgram(version))
  const read = 'name about commands arguments values options flag short repeatable value placeholder'
  return JSON.stringify(commands, read.split(' '))
}

/** The text of man/modelgate.1. */
export async function manual(version: string): Promise<string> {
  const { helpDocument } = await import('../src/commands/help/help-tree.ts')
  const { manPage } = await import('./man-page.ts')
  return manPage(helpDocument(await wholeProgram(version)))
}

async function wholeProgram(version: string): Promise<Command> {
  const program = await programOf(version)
  const { loadCommand } = await import('../src/program.ts')
  for (const command of program.commands) await loadCommand(command, context)
  return program
}

async function programOf(version: string): Promise<Command> {
  // The source takes it from the build.
  Object.assign(globalThis, { __VERSION__: version })
  const { createProgram } = await import('../src/program.ts')
  return createProgram(context)
}
