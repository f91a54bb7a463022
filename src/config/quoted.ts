/** A name from a file, safe to print: quoted, shortened, with control and bidirectional characters escaped. */
export function quoted(name: string): string {
  const short = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
