const mark = '[hidden]'

/**
 * A function that takes the given secrets out of a text, in every form they may have been written in:
 * as they are, inside a JSON string, percent-encoded, and in base64 (both alphabets, at any offset).
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.flatMap(formsOf).filter((form) => form !== ''))
  if (forms.size === 0) return (text) => text
  // The longest first: one form may be a piece of another.
  const alternatives = [...forms].sort((a, b) => b.length - a.length).map(escapeForPattern)
  // Case is ignored because percent-encoding may be written in either.
  const pattern = new RegExp(alternatives.join('|'), 'giu')
  return (text) => text.replace(pattern, mark)
}

/** The text without the secrets, see `createRedactor`. */
export function redact(text: string, secrets: readonly string[]): string {
  return createRedactor(secrets)(text)
}

function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  const forms = [plain, JSON.stringify(plain).slice(1, -1), encodeURIComponent(plain)]
  // The base64 of a very short secret is so short that it would match by chance.
  return plain.length < 6 ? forms : [...forms, ...[0, 1, 2].flatMap((offset) => base64Forms(plain, offset))]
}

/** The base64 of a secret that stands `offset` bytes after a group's start, without the edges it shares. */
function base64Forms(secret: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor((bytes.length * 8) / 6)
  const cut = (encoding: 'base64' | 'base64url') => bytes.toString(encoding).slice(start, end)
  return [cut('base64'), cut('base64url'), encodeURIComponent(cut('base64'))]
}

function escapeForPattern(text: string): string {
  return text.replace(
    /[\\^$.*+?()[\]{}|/-]/g,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}
