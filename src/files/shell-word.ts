/** A word as a POSIX shell reads it back: in quotes where it has to be. */
export function shellWord(text: string): string {
  return /^[\w./~+@%:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
