import type { ErrorFacts } from '../errors.ts'
import { shellWord } from './file-error.ts'

export type NextCommand = ReturnType<typeof nextCommand>

/** In a text a line to paste into a shell. @param words the whole call, the program's name first */
export function nextCommand(words: readonly string[]) {
  return { words, toString: () => words.map(shellWord).join(' ') }
}

/** Hint and data from the same words, so that they cannot differ. */
export function leadTo(
  before: string,
  command: NextCommand,
  after = '',
): Required<Pick<ErrorFacts, 'hint' | 'next'>> {
  return { hint: `${before}${command.toString()}${after}`, next: command.words }
}
/** A place to fill in, for the value of a user's header. */
export const hiddenValue = '<value>'

export function shownSource(source: string): string {
  return /^(?:@|env:)/.test(source) ? source : hiddenValue
}

export function withoutHeaderValues(words: readonly string[]): string[] {
  const end = words.indexOf('--')
  const shown = (line: string) =>
    line.replace(/^([^:]*:\s*)([\s\S]*)$/, (_, name: string, value: string) => name + shownSource(value))
  return words.map((word, at) => {
    if (end !== -1 && at > end) return word
    if (word.startsWith('--header=')) return `--header=${shown(word.slice('--header='.length))}`
    return words[at - 1] === '--header' ? shown(word) : word
  })
}
