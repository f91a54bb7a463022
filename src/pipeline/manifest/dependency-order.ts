export interface DependencyOrder {
  /** Each behind those that it needs, else as given. With a cycle, not all of that holds. */
  readonly order: readonly string[]
  /** Each begins and ends with the same id: `a`, `b`, `a`. One for all rows of the same jobs. */
  readonly cycles: readonly (readonly string[])[]
}

/** More cycles than anybody reads at once. */
const maxCycles = 20

/**
 * Puts instances behind those that they need. The same ids in the same order always give the same result.
 * @param needsOf the ids that one refers to; those that are not among `ids` are ignored
 */
export function orderInstances(
  ids: Iterable<string>,
  needsOf: (id: string) => readonly string[],
): DependencyOrder {
  const given = new Set(ids)
  const order: string[] = []
  const cycles = new Map<string, readonly string[]>()
  const done = new Set<string>()
  /** The ids that led to the current one, in order, and what is left to look at of each. */
  const path = new Map<string, Iterator<string>>()
  const visit = (id: string) => path.set(id, needsOf(id)[Symbol.iterator]())

  for (const first of given) {
    if (done.has(first)) continue
    const stack = [first]
    visit(first)
    while (stack.length > 0) {
      const id = stack.at(-1)!
      const { value: need, done: isLast } = path.get(id)!.next()
      if (isLast === true) {
        stack.pop()
        path.delete(id)
        done.add(id)
        order.push(id)
      } else if (path.has(need)) {
        if (cycles.size < maxCycles) addCycle(cycles, stack.slice(stack.indexOf(need)))
      } else if (given.has(need) && !done.has(need)) {
        stack.push(need)
        visit(need)
      }
    }
  }
  return { order, cycles: [...cycles.values()] }
}

function addCycle(cycles: Map<string, readonly string[]>, ids: readonly string[]): void {
  const jobs = ids.map((id) => id.replace(/\[.*/s, '')).join(' ')
  if (!cycles.has(jobs)) cycles.set(jobs, [...ids, ids[0]!])
}
