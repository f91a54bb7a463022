import type { Billed, ExitName, ModelgateError } from '../errors.ts'

/** An error for a person: one line for each problem, then what helps with it. */
export function errorLines(error: ModelgateError): { problems: string[]; remarks: string[] } {
  const { hint, requestId, remoteId } = error.facts
  return {
    problems: error.message
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => `modelgate: ${line}`),
    remarks: [
      ...(hint === undefined ? [] : hint.split('\n').map((line) => `  hint: ${line}`)),
      ...(requestId === undefined ? [] : [`  request id: ${requestId}`]),
      ...(remoteId === undefined ? [] : [`  remote id: ${remoteId}`]),
      ...billedRemark(error),
    ],
  }
}

/** Whether the call may have cost money; where the error does not say, from how it ended. */
export function billedOf(error: ModelgateError): Billed {
  const { billed, phase } = error.facts
  if (billed !== undefined) return billed
  if (phase === 'input' || phase === 'config' || phase === 'connect') return 'no'
  return unbilledExits.has(error.exit) ? 'no' : 'maybe'
}

/** A signal is told of a request by whoever had sent it; else there was none. */
const unbilledExits: ReadonlySet<ExitName> = new Set([
  'usage',
  'key',
  'rejected',
  'later',
  'notSent',
  'hangup',
  'interrupt',
  'terminate',
])

function billedRemark(error: ModelgateError): string[] {
  const billed = billedOf(error)
  if (billed === 'yes') return ['  The request was billed.']
  return billed === 'maybe' ? ['  The request may have been billed.'] : []
}
