import type { Command } from 'commander'
import type { Context } from '../../../context.ts'

/** Runs another command of the program. @throws whatever it throws, as `main` gets it */
export type RunCommand = (argv: readonly string[], context: Context) => Promise<void>

/** Loads what another command of the tree consists of, and all commands below it. */
export type LoadCommand = (command: Command) => Promise<void>

export interface CommandTools {
  readonly load: LoadCommand
  readonly run: RunCommand
}
