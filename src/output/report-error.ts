import type { Context } from '../context.ts'
import type { ModelgateError } from '../errors.ts'
import { createOutput } from './create-output.ts'

export interface ErrorReportOptions {
  /** The form that the command line asked for. */
  readonly json?: 'json' | 'jsonl' | undefined
  /** Errors are never silenced; taken so that a caller can hand on its flags as they are. */
  readonly quiet: boolean
}

/** Reports a failure that came before there was an `Output`, in the same form that one would have used. */
export async function reportError(
  context: Context,
  error: ModelgateError,
  { json, quiet }: ErrorReportOptions,
): Promise<void> {
  await createOutput(context, { mode: json, quiet, usage: false }).error(error)
}
