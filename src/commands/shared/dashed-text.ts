import type { Command } from 'commander'

/** Stands before dashed text while words are parsed: no argument of a program contains it. */
const textMark = '\0'

/**
 * The words of a command line for the parser. A dash and neither a letter nor another dash (`-5 + 3 = ?`, `- milk`)
 * begins no option, but the parser takes it for one.
 */
export function markDashedText(words: readonly string[]): string[] {
  return words.map((word) => (/^-[^A-Za-z-]/.test(word) ? textMark + word : word))
}

/**
 * Takes the marks off again, before a command sees its words: off the arguments, as they came and as they were
 * processed, and off the values of its own options and those of all commands above it.
 */
export function unmarkDashedText(command: Command): void {
  const unmark = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unmark)
    return typeof value === 'string' && value.startsWith(textMark) ? value.slice(textMark.length) : value
  }
  command.args = command.args.map((word) => unmark(word) as string)
  command.processedArgs = command.processedArgs.map(unmark)
  for (let owner: Command | null = command; owner !== null; owner = owner.parent) {
    for (const [name, value] of Object.entries(owner.opts())) {
      owner.setOptionValueWithSource(name, unmark(value), owner.getOptionValueSource(name))
    }
  }
}
