import { ConfigError, ModelgateError, UsageError } from './errors.ts'

/**
 * Collects what is wrong with a call (its flags, files and configuration), so that all of it is reported at once.
 * A problem is an error whose message begins with its location: a flag, a file with the line and the key, a path in the
 * request body.
 */
export interface ProblemList {
  add(problem: ModelgateError): void
  /** Runs a check; a problem that it throws is kept, and any other error is thrown on. */
  check<Value>(run: () => Value | Promise<Value>): Promise<Value | undefined>
  readonly any: boolean
  /** Whether there are so many that more of them would help nobody. */
  readonly isFull: boolean
  /** @throws one error with all problems, if there are any */
  throwIfAny(): void
}

/** @param limit how many problems are kept */
export function createProblemList(limit = Infinity): ProblemList {
  const problems: ModelgateError[] = []
  const add = (problem: ModelgateError) => void problems.push(...partsOf(problem))
  return {
    add,
    async check(run) {
      try {
        return await run()
      } catch (error) {
        if (!isProblem(error)) throw error
        add(error)
        return undefined
      }
    },
    get any() {
      return problems.length > 0
    },
    get isFull() {
      return problems.length > limit
    },
    throwIfAny() {
      if (problems.length > limit) problems.splice(limit, Infinity, new ConfigError(moreProblems))
      throwProblems(problems)
    },
  }
}

const moreProblems = '… and more.'

/**
 * Waits for all of several inputs and throws all their problems together.
 * An error that is not a problem of the input (a signal, a bug) is thrown alone.
 */
export async function allInputs<Value>(inputs: readonly Promise<Value>[]): Promise<Value[]> {
  const settled = await Promise.allSettled(inputs)
  const errors = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const other = errors.find((error) => !isProblem(error))
  if (other !== undefined) throw other
  throwProblems(errors.filter(isProblem))
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/** Throws a single problem as it is, several as one error that lists them; nothing when there are none. */
export function throwProblems(problems: readonly ModelgateError[]): void {
  const all = problems.flatMap(partsOf)
  const distinct = all.filter(
    ({ message }, at) => all.findIndex((problem) => problem.message === message) === at,
  )
  const [first] = distinct
  if (first === undefined) return
  if (distinct.length > 1) throw listOf(distinct)
  // Problems are found before anything is sent, also one with a file that was to be written.
  throw first.facts.billed === 'no' ? first : first.amend({ billed: 'no', ...first.facts })
}

/**
 * A hint follows its problem; one that several problems share, or that belongs to a list, is the hint of the whole.
 * A mistake in the call (exit 2) outranks an unreadable file (exit 10): it has to be corrected in any case.
 */
function listOf(problems: readonly ModelgateError[]): ModelgateError {
  const { exit, code } = problems.find((problem) => problem.exit === 'usage') ?? problems[0]!
  const isShared = ({ message, facts: { hint } }: ModelgateError) =>
    message.includes('\n') || problems.filter((other) => other.facts.hint === hint).length > 1
  const lines = problems.map((problem) => {
    const { hint } = problem.facts
    return hint === undefined || isShared(problem) ? problem.message : `${problem.message} ${hint}`
  })
  const hints = new Set(problems.filter(isShared).flatMap((problem) => problem.facts.hint ?? []))
  const isConfig = problems.every((problem) => problem.facts.phase === 'config')
  const listFacts = {
    phase: isConfig ? 'config' : 'input',
    billed: 'no',
    problems,
    ...(hints.size === 0 ? {} : { hint: [...hints].join('\n') }),
  } as const
  return exit === 'usage'
    ? new UsageError(lines, { ...listFacts, code })
    : new ModelgateError(exit, code, lines.join('\n'), listFacts)
}

function partsOf(problem: ModelgateError): readonly ModelgateError[] {
  return problem.facts.problems ?? [problem]
}

/** Whether an error is a mistake in what was given, or a file that cannot be used; all of these are reported together. */
export function isProblem(error: unknown): error is ModelgateError {
  return error instanceof ModelgateError && (error.exit === 'usage' || error.exit === 'io')
}
