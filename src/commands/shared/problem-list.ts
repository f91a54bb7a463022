import { ModelgateError } from '../../errors.ts'

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

/**
 * Throws one problem as it is, several as one error that lists them all with their hints; nothing when there are none.
 * A hint stands behind its problem; one that is about several problems is the hint of the whole.
 * A mistake in the call (exit 2) outranks an unreadable file (exit 10): it has to be corrected in any case.
 */
export function throwProblems(problems: readonly ModelgateError[]): void {
  const [first] = problems
  if (first === undefined) return
  // Problems of a call are found before anything is sent, also one with a file that was to be written.
  if (problems.every(({ message }) => message === first.message)) throw first.supplying({ billed: 'no' })
  const { exit, code } = problems.find((problem) => problem.exit === 'usage') ?? first
  const isList = ({ message }: ModelgateError) => message.includes('\n')
  const lines = problems.map((problem) => {
    const { message, facts } = problem
    return facts.hint === undefined || isList(problem) ? message : `${message} ${facts.hint}`
  })
  const hints = problems.filter(isList).flatMap(({ facts }) => facts.hint ?? [])
  throw new ModelgateError(exit, code, lines.join('\n'), {
    phase: 'input',
    billed: 'no',
    ...(hints.length === 0 ? {} : { hint: [...new Set(hints)].join('\n') }),
  })
}

/**
 * Waits for all of several inputs and throws all their problems together.
 * An error that is no problem of the input (a signal, a bug) is thrown alone.
 */
export async function allInputs<Value>(inputs: readonly Promise<Value>[]): Promise<Value[]> {
  const settled = await Promise.allSettled(inputs)
  const errors = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const other = errors.find((error) => !isInputProblem(error))
  if (other !== undefined) throw other
  throwProblems(errors.filter(isInputProblem))
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

function isInputProblem(error: unknown): error is ModelgateError {
  return error instanceof ModelgateError && (error.exit === 'usage' || error.exit === 'io')
}
