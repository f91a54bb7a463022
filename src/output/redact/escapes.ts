/** The longest escape of JSON is `\u0000`. */
const longestEscape = 6

/**
 * The whole of the JSON escape that the place `at` is inside of; undefined between characters.
 * The end may lie behind the end of the text.
 */
export function escapeAround(text: string, at: number): { start: number; end: number } | undefined {
  for (let start = at - 1; start > at - longestEscape && start >= 0; start--) {
    if (text.charCodeAt(start) !== 0x5c) continue
    if (!isEscape(text, start)) continue
    const end = start + (text[start + 1] === 'u' ? longestEscape : 2)
    return at < end ? { start, end } : undefined
  }
  return undefined
}

/** Whether a backslash begins an escape, and is not itself escaped. Of a long row of them the last part tells. */
function isEscape(text: string, at: number): boolean {
  let start = at
  while (start > 0 && text.charCodeAt(start - 1) === 0x5c) start--
  return (at - start) % 2 === 0
}
