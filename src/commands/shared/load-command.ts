import type { Command } from 'commander'

/** Loads what a command of the tree consists of; handed to the commands that speak about other commands. */
export type LoadCommand = (command: Command) => Promise<void>
