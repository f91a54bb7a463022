import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { exitCodes, ModelgateError, type ExitName } from '../../errors.ts'
import type { Check } from '../../events/checks.ts'
import type { Gate } from '../../output/gate.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'

/** What a check found out, without its name. */
export type Finding = Omit<Check, 'name'>

export interface Checkup {
  readonly context: Context
  readonly options: CommonOptions
  readonly gate: Gate
  /** Undefined when the configuration has problems, which its own check tells. */
  readonly settings: Settings | undefined
  /** The gateway: the one that is configured, or the sandbox; undefined when there is none to look at. */
  readonly baseUrl: URL | undefined
  /** The key for the sandbox; undefined for that of the settings. */
  readonly sandboxKey: string | undefined
}

export const ok = (message: string): Finding => ({ verdict: 'ok', message, remedy: null, exit_code: null })

export const skipped = (message: string): Finding => ({
  verdict: 'skipped',
  message,
  remedy: null,
  exit_code: null,
})

export const warning = (message: string, remedy: string | null = null): Finding => ({
  verdict: 'warning',
  message,
  remedy,
  exit_code: null,
})

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
