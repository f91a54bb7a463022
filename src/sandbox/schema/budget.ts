import { limitExceeded, type RequestProblem } from '../http/request-problem.ts'

/** Characters of a sample, or steps of work, that one may cost: some tenths of a second. */
const limit = 2_000_000

/** The cost of a value in addition to its characters. */
const costOfValue = 8

export type Budget = ReturnType<typeof createBudget>

/**
 * The budget of a sample, so that none can block the others or fill the memory.
 * @param left what remains of it
 */
export function createBudget(left = limit) {
  /**
   * Pays for work before it is done.
   * @param cost in characters of answer; a step of other work counts as one
   * @throws RequestProblem 400 when the request costs more than one may
   */
  const spend = (cost: number) => {
    left -= cost
    // Not `left < 0`, so that NaN does not pass.
    if (!(left >= 0)) throw tooExpensive()
  }
  /** Pays for a JSON value that will be part of the answer. @throws RequestProblem as `spend` does */
  const spendOn = (value: unknown): void => {
    spend(typeof value === 'string' ? value.length + costOfValue : costOfValue)
    if (typeof value !== 'object' || value === null) return
    for (const name in value) {
      spend(name.length)
      spendOn((value as Record<string, unknown>)[name])
    }
  }
  return { spend, spendOn }
}

function tooExpensive(): RequestProblem {
  return limitExceeded(
    `The answer to this request would be larger than the sandbox generates: ${limit} characters, fewer where they take more work.`,
  )
}
