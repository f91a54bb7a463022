import type { Command } from 'commander'
import type { Example } from '../../../output/help-page.ts'

export type { Example }

const examplesByCommand = new WeakMap<Command, readonly Example[]>()

/** Puts examples into a command's help, the most useful ones first: without `--all` it shows three. */
export function addExamples(command: Command, examples: readonly Example[]): void {
  examplesByCommand.set(command, examples)
}

export function examplesOf(command: Command): readonly Example[] {
  return examplesByCommand.get(command) ?? []
}

const firstByCommand = new WeakMap<Command, readonly string[]>()

/**
 * Names the options of a command that its help shows, in the order of use; `--all` shows the others behind them.
 * @param names without dashes in front, with a space between them
 */
export function showFirst(command: Command, names: string): void {
  firstByCommand.set(command, names.split(' '))
}

/** The options that `showFirst` names; undefined where all are shown. */
export function shownFirst(command: Command): readonly string[] | undefined {
  return firstByCommand.get(command)
}
