/** What is shorter may well be part of a word, a path or a name: a sandbox's key, not one that was issued. */
export const leastLength = 8

/** The base64 and hex of what is shorter are so short that they would match by chance. */
const leastEncodedLength = 6

/**
 * The spellings of a secret that can be told from other text wherever they stand: as it is, in JSON, in a URL, in
 * hexadecimal, and in base64 (both alphabets, at any offset). None for a secret that is too short for that.
 */
export function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  const encoded = plain.length < leastEncodedLength ? [] : encodings(plain).flatMap(spellings)
  return [...new Set([...(plain.length < leastLength ? [] : spellings(plain)), ...encoded])]
}

/** A text as it is, and as the writers of JSON and of URLs escape it; usually these are all the same. */
export function spellings(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  return [
    ...new Set([
      text,
      json,
      // JSON inside JSON, as the arguments of a tool call.
      JSON.stringify(json).slice(1, -1),
      // PHP, Go and .NET escape more than JSON asks for.
      json.replaceAll('/', String.raw`\/`),
      json.replaceAll(/[<>&]/g, unicodeEscape),
      JSON.stringify(text.replaceAll('"', '\0'))
        .slice(1, -1)
        .replaceAll(String.raw`\u0000`, String.raw`\u0022`)
        .replaceAll(/[<>&'+`]/g, unicodeEscape),
      encodeURIComponent(text),
      encodeURI(text),
      new URLSearchParams([['', text]]).toString().slice(1),
      // How URL parsers write a query, and a path.
      text.replaceAll(/["#<>']/g, encodeURIComponentStrictly),
      text.replaceAll(/["#<>?^`{}]/g, encodeURIComponentStrictly),
    ]),
  ]
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function encodeURIComponentStrictly(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`
}

function encodings(text: string): string[] {
  const bytes = Buffer.from(text)
  return [bytes.toString('hex'), ...[0, 1, 2].flatMap((offset) => base64Forms(bytes, offset))]
}

/** The base64 of bytes that stand `offset` bytes after a group's start, without the edges that they share. */
function base64Forms(content: Uint8Array, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), content])
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor((bytes.length * 8) / 6)
  return [bytes.toString('base64').slice(start, end), bytes.toString('base64url').slice(start, end)]
}
