import { ModelgateError } from '../../errors.ts'
import { throwProblems } from './throw-problems.ts'

/** Gathers what is wrong with a call, so that all of it is told at once. */
export interface ProblemList {
  /** Does a step; a problem of the input is kept, anything else is thrown on. */
  step<Value>(work: () => Value | Promise<Value>): Promise<Value | undefined>
  readonly any: boolean
  /** @throws one error with all problems, if there are any */
  throwAny(): void
}

export function createProblemList(): ProblemList {
  const problems: ModelgateError[] = []
  return {
    async step(work) {
      try {
        return await work()
      } catch (error) {
        const ofInput = error instanceof ModelgateError && (error.exit === 'usage' || error.exit === 'io')
        if (!ofInput) throw error
        problems.push(error)
        return undefined
      }
    },
    get any() {
      return problems.length > 0
    },
    throwAny: () => throwProblems(problems),
  }
}
