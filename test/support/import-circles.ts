/**
 * For each circle of files that need each other the way from one of them back to itself.
 * @param needs for each file those that it names
 */
export function importCircles(needs: ReadonlyMap<string, readonly string[]>): readonly string[][] {
  const done = new Set<string>()
  return [...needs.keys()]
    .map((name) => circleFrom(name, [], { needs, done }))
    .filter((circle) => circle !== undefined)
}

interface Search {
  readonly needs: ReadonlyMap<string, readonly string[]>
  /** Files that have been looked at: a circle is found once. */
  readonly done: Set<string>
}

function circleFrom(name: string, path: readonly string[], search: Search): string[] | undefined {
  if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
  if (search.done.has(name)) return undefined
  let circle: string[] | undefined
  for (const next of search.needs.get(name) ?? []) circle ??= circleFrom(next, [...path, name], search)
  search.done.add(name)
  return circle
}
