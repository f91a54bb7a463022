import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { CommonOptions } from './common-options.ts'
import { parseJsonFlag } from './json-value.ts'
import type { ProblemList } from './problem-list.ts'
import { parseSet, setPath } from './set-path.ts'

export type Body = Record<string, unknown>

/** The body that `--body` gives to start from; an empty one without it. */
export async function startBody(context: Context, options: CommonOptions): Promise<Body> {
  if (options.body === undefined) return {}
  const value = await parseJsonFlag(context, '--body', options.body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('--body must be a JSON object.')
  }
  return value as Body
}

/**
 * Sets a place in the body, creating what lies on the way.
 * @param flag which one asks for it, for the message
 * @throws UsageError `invalid_set` for a name that cannot be one, and where a text or number is in the way
 */
export function setField(body: Body, path: readonly string[], value: unknown, flag = '--set'): void {
  const name = path[0]!
  try {
    body[name] = setPath(body, path, value)[name]
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(error.message.replace('--set', flag), { ...error.facts, code: error.code })
  }
}

/** Adds entries to a list of the body. What stands there and is no list is kept, for the check to judge. */
export function appendEntries(body: Body, name: string, entries: readonly unknown[]): void {
  const before = body[name] ?? []
  body[name] = [...(Array.isArray(before) ? (before as unknown[]) : [before]), ...entries]
}

/** Applies `--set`, which comes last and reaches anything. */
export async function applySets(options: CommonOptions, body: Body, problems: ProblemList): Promise<void> {
  for (const text of options.set ?? []) {
    await problems.step(() => {
      const { path, value } = parseSet(text)
      setField(body, path, value)
    })
  }
}

/** Whether `--set` reaches into a top-level field. Texts that cannot be read reach nothing. */
export function isSet(options: CommonOptions, field: string): boolean {
  return (options.set ?? []).some((text) => {
    try {
      return parseSet(text).path[0] === field
    } catch {
      return false
    }
  })
}
