/**
 * For each circle of files that need each other the way from one of them back to itself.
 * @param needs for each file those that it names
 */
export function importCircles(needs: ReadonlyMap<string, readonly string[]>): readonly string[][] {
  /** Files that have been looked at: a circle is found once. */
  const done = new Set<string>()
  const circleFrom = (name: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
    if (done.has(name)) return undefined
    let circle: string[] | undefined
    for (const next of needs.get(name) ?? []) circle ??= circleFrom(next, [...path, name])
    done.add(name)
    return circle
  }
  return [...needs.keys()].map((name) => circleFrom(name, [])).filter((circle) => circle !== undefined)
}
