/** A place in a text. Lines and columns count from 1, columns in characters. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** Finds lines and columns of offsets in a text, which are in UTF-16 units. */
export function createLocator(text: string): (offset: number) => TextPosition {
  let starts: number[] | undefined
  return (offset) => {
    starts ??= lineStarts(text)
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: Array.from(text.slice(starts[low], offset)).length + 1 }
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
