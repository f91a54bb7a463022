const mark = '[hidden]'

/** A message may have been cut in the middle of a secret: so much of its beginning gives it away. */
const tellingLength = 12

/**
 * A function that takes the given secrets out of a text, in every form they may have been written in:
 * as they are, inside a JSON string, percent-encoded, and in base64 (both alphabets, at any offset);
 * whole, or only the beginning of them.
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.flatMap(formsOf).filter((form) => form !== ''))
  if (forms.size === 0) return (text) => text
  // Case is ignored because percent-encoding may be written in either.
  const pattern = new RegExp(patternOf(branchesOf([...forms]), 0), 'giu')
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
