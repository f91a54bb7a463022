import { limitExceeded, type RequestProblem } from './http/request-problem.ts'

/** Characters of answer, or steps of work, that one request may cost: some tenths of a second. */
const limit = 2_000_000

/** The remaining budget of a request, so that none can block the others or fill the memory. */
export interface Budget {
  /**
   * Pays for work before it is done.
   * @param cost in characters of answer; a step of other work counts as one
   * @throws RequestProblem 400 when the request costs more than one may
   */
  spend(cost: number): void
  /**
   * Pays for a JSON value that will be part of the answer.
   * @throws RequestProblem as `spend` does
   */
  spendOn(value: unknown): void
}

/** The cost of a value in addition to its characters. */
const costOfValue = 8

/** @param left the remaining budget */
export function createBudget(left = limit): Budget {
  const spend = (cost: number) => {
    left -= cost
    // Not `left < 0`, so that NaN does not pass.
    if (!(left >= 0)) throw tooExpensive()
  }
  const spendOn = (value: unknown) => {
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
