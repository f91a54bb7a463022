import type { Command } from 'commander'
import { readTree, type CommandNode } from '../../src/commands/completion/tree.ts'
import { createProgram, loadCommand } from '../../src/program.ts'
import { testContext } from './test-context.ts'

/** The whole program, with every command loaded. */
export async function loadedProgram(): Promise<Command> {
  const context = testContext()
  const program = createProgram(context)
  for (const command of program.commands) await loadCommand(command, context)
  return program
}

/** The same, as completion sees it. */
export async function programTree(): Promise<CommandNode> {
  return readTree(await loadedProgram())
}
