/**
 * The known name that a mistyped or shortened one most likely means. Letter case, dashes and underscores make no difference.
 * @param maxDistance how many characters may be wrong
 */
export function nearestName(
  typed: string,
  known: readonly string[],
  maxDistance = Math.max(1, Math.floor(typed.length * 0.4)),
): string | undefined {
  if (typed.length > 40) return undefined
  const plainOf = (name: string) => name.toLowerCase().replaceAll('-', '_')
  const plain = plainOf(typed)
  const started = plain.length < 2 ? [] : known.filter((name) => plainOf(name).startsWith(plain))
  if (started.length === 1) return started[0]
  let best: string | undefined
  let minDistance = maxDistance + 1
  for (const name of known) {
    const distance = editDistance(plain, plainOf(name))
    if (distance < minDistance) [best, minDistance] = [name, distance]
  }
  return best
}

/** Edit distance: how many characters must be inserted, deleted, replaced or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Infinity
  for (let row = 1; row <= from.length; row++) {
    rows[row] = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      rows[row]![column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
        swapped ? at(row - 2, column - 2) + 1 : Infinity,
      )
    }
  }
  return at(from.length, to.length)
}
