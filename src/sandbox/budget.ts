import { limitExceeded, type RequestProblem } from './http/request-problem.ts'

/** Characters of answer, or steps of work, that one request may cost: some tenths of a second. */
const limit = 2_000_000

/** What one request may still cost, so that none can hold up the others or fill the memory. */
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

/** What a value costs beside its characters. */
const costOfValue = 8

/** @param left how much there is to spend */
export function createBudget(left = limit): Budget {
  const spend = (cost: number) => {
    left -= cost
    // Not `left < 0`: a cost that is no number must not pass either.
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
