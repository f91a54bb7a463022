import type { ErrorFacts } from '../errors.ts'
import { shellWord } from './file-error.ts'

/** A command to run next: as the words of a call, and in a text as a line to paste into a shell. */
export interface NextCommand {
  readonly words: readonly string[]
  toString(): string
}

/** @param words the whole call, the program's name first */
export function nextCommand(words: readonly string[]): NextCommand {
  return { words, toString: () => words.map(shellWord).join(' ') }
}

/** A hint that names a command, and the command as data: both from the same words, so that they cannot differ. */
export function leadTo(
  before: string,
  command: NextCommand,
  after = '',
): Required<Pick<ErrorFacts, 'hint' | 'next'>> {
  return { hint: `${before}${command.toString()}${after}`, next: command.words }
}
