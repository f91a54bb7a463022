/** `. Did you mean "reset"?` when one of the names is close enough to what was given, else nothing. */
export function didYouMean(given: string, names: readonly string[]): string {
  const ranked = names
    .map((name) => ({ name, distance: editDistance(given.slice(0, 40), name) }))
    .toSorted((left, right) => left.distance - right.distance)
  const nearest = ranked[0]
  const isClose = nearest !== undefined && nearest.distance <= Math.max(2, nearest.name.length / 3)
  return isClose ? ` (did you mean "${nearest.name}"?)` : ''
}

/** Insertions, deletions and replacements between two words. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...left].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= right.length; column++) {
      const replaced = row[column - 1]! + Number(letter !== right[column - 1])
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[right.length]!
}
