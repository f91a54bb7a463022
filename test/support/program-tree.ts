import type { Command } from 'commander'
import { helpDocument } from '../../src/commands/help/help-tree.ts'
import { createProgram, loadCommand } from '../../src/program.ts'
import { testContext } from './test-context.ts'

/** The whole program, with every command loaded. */
export async function loadedProgram(): Promise<Command> {
  const context = testContext()
  const program = createProgram(context)
  for (const command of program.commands) await loadCommand(command, context)
  return program
}

/** What `help --json` says of all commands, which is what completion reads; the program itself is the first. */
export async function programCommands() {
  return helpDocument(await loadedProgram()).commands
}
