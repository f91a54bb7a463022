import { exitCodes, ModelgateError, type ExitName } from '../../errors.ts'
import type { Check } from '../../events/checks.ts'

/** What a check found out, without its name. */
export type Finding = Omit<Check, 'name'>

const finding =
  (verdict: Check['verdict']) =>
  (message: string, remedy: string | null = null): Finding => ({ verdict, message, remedy, exit_code: null })

export const ok = finding('ok')
export const skipped = finding('skipped')
export const warning = finding('warning')

export const failed = (exit: ExitName, message: string, remedy: string | null = null): Finding => ({
  verdict: 'failed',
  message,
  remedy,
  exit_code: exitCodes[exit].code,
})

/** A failure as an error of the program has it: its message, hint and exit code. @throws anything else */
export function failedBy(error: unknown): Finding {
  if (!(error instanceof ModelgateError)) throw error
  return failed(error.exit, error.message, error.facts.hint ?? null)
}
