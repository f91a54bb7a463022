import { UsageError } from '../errors.ts'

/** One thing that is wrong with the configuration. They are collected, and reported all at once. */
export interface Problem {
  readonly message: string
  readonly hint?: string
}

/** More than this is a file that was never meant to be ours. */
const mostShown = 20

/** Whether looking for more problems would help nobody, and would take long in a hostile file. */
export function hasEnough(problems: readonly Problem[]): boolean {
  return problems.length > mostShown
}

/** @throws UsageError naming every problem, if there is one */
export function throwProblems(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const messages = problems.slice(0, mostShown).map((problem) => problem.message)
  if (problems.length > mostShown) messages.push('… and more.')
  throw new UsageError(messages, configFacts(problems.flatMap((problem) => problem.hint ?? [])))
}

/** Runs one step; what it finds wrong joins the list, so that the other steps can still speak. */
export async function collecting<T>(problems: Problem[], step: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const { hint } = error.facts
    problems.push(hint === undefined ? { message: error.message } : { message: error.message, hint })
    return undefined
  }
}

/** A single problem, to be thrown at once. */
export function configError(message: string, hint?: string, cause?: unknown): UsageError {
  return new UsageError(message, { ...configFacts(hint === undefined ? [] : [hint]), cause })
}

function configFacts(hints: readonly string[]) {
  const facts = { phase: 'config', code: 'config_invalid' } as const
  return hints.length === 0 ? facts : { ...facts, hint: [...new Set(hints)].join('\n') }
}

/** A name from a file, safe to show: quoted, shortened, with control and direction characters escaped. */
export function quoted(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
