import { ConfigError, ModelgateError, UsageError } from './errors.ts'

export type ProblemList = ReturnType<typeof createProblemList>

/**
 * Collects the problems of a call, to report all at once. The message of each begins with its location: a flag, a file with
 * line and key, or a path in the request body.
 * @param limit how many problems are kept
 */
export function createProblemList(limit = Infinity) {
  const problems: ModelgateError[] = []
  const add = (problem: ModelgateError) => void problems.push(...partsOf(problem))
  return {
    add,
    /** Collects the problem that a check throws; rethrows any other error. */
    async check<Value>(run: () => Value | Promise<Value>): Promise<Value | undefined> {
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
    has: (...codes: readonly string[]): boolean => problems.some(({ code }) => codes.includes(code)),
    get isFull() {
      return problems.length > limit
    },
    throwIfAny(): void {
      if (problems.length > limit) problems.splice(limit, Infinity, new ConfigError(moreProblems))
      throwProblems(problems)
    },
  }
}

const moreProblems = '… and more.'

/** Throws the problems of all inputs together; an error that is none (a signal, a bug) alone. */
export async function allInputs<Value>(inputs: readonly Promise<Value>[]): Promise<Value[]> {
  const settled = await Promise.allSettled(inputs)
  const errors = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const other = errors.find((error) => !isProblem(error))
  if (other !== undefined) throw other
  throwProblems(errors.filter(isProblem))
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/** Throws a single problem as it is, several as one error that lists them; nothing if there are none. */
export function throwProblems(problems: readonly ModelgateError[]): void {
  const all = problems.flatMap(partsOf)
  const distinct = all.filter(
    ({ message }, at) => all.findIndex((problem) => problem.message === message) === at,
  )
  const [first] = distinct
  if (first === undefined) return
  if (distinct.length > 1) throw listOf(distinct)
  // Problems are found before anything is sent, including those with output files.
  throw first.facts.billed === 'no' ? first : first.amend({ billed: 'no', ...first.facts })
}

/**
 * A hint follows its problem, unless several share it. A mistake in the call (exit 2) outranks an unreadable file (exit 10):
 * it has to be corrected in any case.
 */
function listOf(problems: readonly ModelgateError[]): ModelgateError {
  const { exit, code } = problems.find((problem) => problem.exit === 'usage') ?? problems[0]!
  const isShared = ({ message, facts: { hint } }: ModelgateError) =>
    `${message}${hint}`.includes('\n') || problems.filter((other) => other.facts.hint === hint).length > 1
  const lines = problems.map((problem) => {
    const { hint } = problem.facts
    return hint === undefined || isShared(problem) ? problem.message : `${problem.message} ${hint}`
  })
  const hints = new Set(problems.filter(isShared).flatMap((problem) => problem.facts.hint ?? []))
  const nexts = new Map(problems.flatMap(({ facts: { next } }) => (next ? [[next.join('\0'), next]] : [])))
  const isConfig = problems.every((problem) => problem.facts.phase === 'config')
  const listFacts = {
    phase: isConfig ? 'config' : 'input',
    billed: 'no',
    problems,
    ...(hints.size === 0 ? {} : { hint: [...hints].join('\n') }),
    // Several ways on are no way on.
    ...(nexts.size === 1 ? { next: [...nexts.values()][0]! } : {}),
  } as const
  return exit === 'usage'
    ? new UsageError(lines, { ...listFacts, code })
    : new ModelgateError(exit, code, lines.join('\n'), listFacts)
}

function partsOf(problem: ModelgateError): readonly ModelgateError[] {
  return problem.facts.problems ?? [problem]
}

/** Whether an error is invalid input or an unusable file; these are reported together. */
export function isProblem(error: unknown): error is ModelgateError {
  return error instanceof ModelgateError && (error.exit === 'usage' || error.exit === 'io')
}
