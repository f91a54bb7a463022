import type { Argument, Option } from 'commander'

const suggestions = new WeakMap<Argument | Option, readonly string[]>()

/**
 * Remembers the words that a value may be, for completion. Unlike commander's choices they are not enforced:
 * the contract's own check does that, with all other problems.
 */
export function suggestWords<T extends Argument | Option>(
  target: T,
  words: readonly string[] | undefined,
): T {
  if (words !== undefined) suggestions.set(target, words)
  return target
}

/** The words that are offered for a value: its choices, or what was suggested; none when anything goes. */
export function wordsFor(target: Argument | Option): readonly string[] {
  return target.argChoices ?? suggestions.get(target) ?? []
}
