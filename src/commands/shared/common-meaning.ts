import type { Command, Option } from 'commander'

const meanings = new WeakMap<Command, Readonly<Record<string, string>>>()
const refusals = new WeakMap<Command, ReadonlySet<string>>()

/** What `--strict` is about. */
export const strictMeanings = {
  text: { strict: 'treat an answer cut by the token limit as a failure' },
  images: { strict: 'treat missing images as a failure' },
  videos: { strict: 'treat missing videos as a failure' },
  videosIfWaiting: { strict: 'with --wait, treat missing videos as a failure' },
} as const

/**
 * Says in the help of a command what options of every command mean to this one.
 * @param meaning by the options' names, as commander keeps them
 */
export function explainCommon(command: Command, meaning: Readonly<Record<string, string>>): void {
  meanings.set(command, meaning)
}

/** Leaves options of every command out of the help of one that refuses them. */
export function hideCommon(command: Command, refused: ReadonlySet<string>): void {
  refusals.set(command, refused)
}

/** What the option means to the command; undefined where it is the same for all. */
export function meaningOf(command: Command, option: Option): string | undefined {
  return meanings.get(command)?.[option.attributeName()]
}

/** Whether the help of the command leaves the option out. */
export function isHidden(command: Command, option: Option): boolean {
  return refusals.get(command)?.has(option.attributeName()) ?? false
}
