/**
 * Pieces of regular expressions for JSON of one expected shape. Matching such a text as a whole is quicker
 * than parsing it, and as strict: what is not JSON never passes.
 */

/** The inside of a string. Unrolled, so that no backtracking remembers each character. */
const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`

export const jsonPattern = {
  characters,
  /** A string without escapes, a small whole number, an empty list, or null. */
  plainValue: String.raw`(?:"[^"\\\u0000-\u001f]*"|0|[1-9]\d{0,8}|\[\]|null)`,
} as const

/** The text that the inside of a JSON string stands for. */
export function unescapeJson(characters: string): string {
  return characters.includes('\\') ? (JSON.parse(`"${characters}"`) as string) : characters
}
