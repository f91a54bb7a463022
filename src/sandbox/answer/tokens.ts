/** Cuts text into the pieces the sandbox calls tokens and streams one by one; joined, they are the text again. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,10}|\s+/gu) ?? []
}

/** A cheap count for input of any size: a token for every four characters, as public practice estimates. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}
