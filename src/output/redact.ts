const mark = '[hidden]'

/** A message may have been cut in the middle of a secret: so much of its beginning gives it away. */
const tellingLength = 12

type Redactor = (text: string) => string

/**
 * A function that takes the given secrets out of a text, in every form they may have been written in:
 * as they are, inside a JSON string, percent-encoded, and in base64 (both alphabets, at any offset);
 * whole, or only the beginning of them. A short secret is also part of many a word: see `createWordRedactor`.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const redactForms = createFormRedactor(secrets)
  const redactWords = createWordRedactor(secrets)
  return redactWords === undefined ? redactForms : (text) => redactWords(redactForms(text))
}

/** The same for JSON text (one document, or one a line), which stays valid: a short secret is sought in string values only. */
export function createJsonRedactor(secrets: readonly string[]): Redactor {
  const redactForms = createFormRedactor(secrets)
  const redactWords = createWordRedactor(secrets)
  if (redactWords === undefined) return redactForms
  return (json) =>
    redactForms(json).replace(jsonString, (string, colon) =>
      colon ? string : redactString(string, redactWords),
    )
}

function createFormRedactor(secrets: readonly string[]): Redactor {
  const forms = new Set(secrets.flatMap(formsOf))
  if (forms.size === 0) return (text) => text
  // Case is ignored because percent-encoding may be written in either.
  const pattern = new RegExp(patternOf(branchesOf([...forms]), 0), 'giu')
  return (text) => text.replace(pattern, mark)
}

/** The text without the secrets, see `createRedactor`. */
export function redact(text: string, secrets: readonly string[]): string {
  return createRedactor(secrets)(text)
}

/** A JSON string, and the colon after it when it is the name of a property. */
const jsonString = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/gs

/** The string as it was, unless it holds a secret. */
function redactString(string: string, redactWords: Redactor): string {
  try {
    const value = JSON.parse(string) as string
    const clean = redactWords(value)
    return clean === value ? string : JSON.stringify(clean)
  } catch {
    // Between quotation marks that are not JSON's.
    return redactWords(string)
  }
}

/** What is shorter may well be part of a word, a path or a name: a sandbox's key, not one that was issued. */
const leastLength = 8

/**
 * Takes short secrets out of a text where they stand as words of their own: not within a word, a path or a file name,
 * nor within the name of a JSON property. Undefined when no secret is short.
 */
function createWordRedactor(secrets: readonly string[]): Redactor | undefined {
  const forms = new Set(
    secrets.filter((secret) => secret !== '' && secret.length < leastLength).flatMap(spellings),
  )
  if (forms.size === 0) return undefined
  const letter = '[\\p{L}\\p{N}_]'
  const before = `(?<!${letter}|[/\\\\]|${letter}[.-])`
  const after = `(?![/\\\\.-]?${letter})`
  const notInName = '(?![^"\\\\\\n]{0,200}"\\s{0,9}:)'
  const pattern = new RegExp(
    `${before}(?:${[...forms].map(escapeForPattern).join('|')})${after}${notInName}`,
    'gu',
  )
  return (text) => text.replace(pattern, mark)
}

function spellings(secret: string): string[] {
  const plain = secret.toWellFormed()
  return [plain, JSON.stringify(plain).slice(1, -1), encodeURIComponent(plain)]
}

/** The forms that are told from other text wherever they stand. */
function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  const words = plain.length < leastLength ? [] : spellings(secret)
  // The base64 of a very short secret is so short that it would match by chance.
  return plain.length < 6 ? words : [...words, ...[0, 1, 2].flatMap((offset) => base64Forms(plain, offset))]
}

/** The base64 of a secret that stands `offset` bytes after a group's start, without the edges it shares. */
function base64Forms(secret: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor((bytes.length * 8) / 6)
  const cut = (encoding: 'base64' | 'base64url') => bytes.toString(encoding).slice(start, end)
  return [cut('base64'), cut('base64url'), encodeURIComponent(cut('base64'))]
}

/** What may follow a beginning that several forms share; a form may also end there. */
interface Branches {
  readonly next: Map<string, Branches>
  ends: boolean
}

/** All forms as one tree: so the pattern follows whichever goes on longest. */
function branchesOf(forms: readonly string[]): Branches {
  const root: Branches = { next: new Map(), ends: false }
  for (const form of forms) {
    let branch = root
    for (const character of form.toLowerCase()) {
      const next = branch.next.get(character) ?? { next: new Map(), ends: false }
      branch.next.set(character, next)
      branch = next
    }
    branch.ends = true
  }
  return root
}

function patternOf({ next, ends }: Branches, depth: number): string {
  if (next.size === 0) return ''
  const ways = [...next].map(
    ([character, branch]) => escapeForPattern(character) + patternOf(branch, depth + 1),
  )
  return `(?:${ways.join('|')})${ends || depth >= tellingLength ? '?' : ''}`
}

function escapeForPattern(text: string): string {
  return text.replace(
    /[\\^$.*+?()[\]{}|/-]/g,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}
