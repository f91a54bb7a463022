import { cutBytes, isDeviceName, safeFileName } from './file-name.ts'

/** The words in braces that a file name may hold. */
export const templateTokens = ['index', 'ext', 'model', 'date', 'slug', 'id'] as const
export type TemplateToken = (typeof templateTokens)[number]

/** What a command makes. */
export type OutputKind = 'image' | 'video'

/** The values of the tokens. */
export interface TemplateValues {
  readonly index: number
  /** Without the dot. */
  readonly extension: string
  readonly model: string
  readonly prompt: string
  /** Names what has no prompt; an image unless given. */
  readonly kind?: OutputKind
  /** Milliseconds since 1970; `{date}` is its day in UTC, as 2026-08-20. */
  readonly now: number
  readonly id: string | undefined
}

/** A file name with tokens. */
export interface OutputTemplate {
  readonly tokens: ReadonlySet<TemplateToken>
  /** Words in braces that mean nothing, as they were written. */
  readonly unknown: readonly string[]
  /** Whatever the values hold, they add no folder, no hidden file and no name that some system keeps for itself. */
  expand(values: TemplateValues): string
}

/** `{{` and `}}` are literal braces. */
const braces = /\{\{|\}\}|\{([^{}]*)\}/g

/** Reads a name such as `out/{slug}-{index}.{ext}`. */
export function parseTemplate(text: string): OutputTemplate {
  const words = [...text.matchAll(braces)].flatMap(([, word]) => (word === undefined ? [] : [word]))
  return {
    tokens: new Set(words.filter(isToken)),
    unknown: words.filter((word) => !isToken(word)).map((word) => `{${word}}`),
    expand(values) {
      const name = text.replace(braces, (whole: string, word: string | undefined) => {
        if (word === undefined) return whole[0]!
        return isToken(word) ? valueOf(word, values) : whole
      })
      return words.length === 0
        ? name
        : name
            .split(/([/\\])/)
            .map(withoutDevice)
            .join('')
    },
  }
}

/** Escapes text so that it is literal in a template. */
export function literalTemplate(text: string): string {
  return text.replace(/[{}]/g, '$&$&')
}

/** At most this many bytes of a value go into a name, so that no value makes it too long for a file system. */
const maxBytes = { model: 60, id: 80, slug: 48 }

function valueOf(token: TemplateToken, values: TemplateValues): string {
  switch (token) {
    case 'index':
      return String(values.index)
    case 'ext':
      return safeFileName(values.extension)
    case 'model':
      return shortName(values.model || 'model', maxBytes.model)
    case 'date':
      return new Date(values.now).toISOString().slice(0, 10)
    case 'slug':
      return slugOf(values.prompt, values.kind)
    case 'id':
      return shortName(values.id || 'no-id', maxBytes.id)
  }
}

function isToken(word: string): word is TemplateToken {
  return (templateTokens as readonly string[]).includes(word)
}

/** The first words of a prompt, in small letters, joined by dashes; what it is a prompt for when it has none. */
export function slugOf(prompt: string, kind: OutputKind = 'image'): string {
  const words = prompt
    .slice(0, 1000)
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^[-\p{M}]+/u, '')
  const cut = cutBytes(words, maxBytes.slug)
  // Ends between words where that leaves enough of them.
  const wholeWords = cut.length < words.length && words[cut.length] !== '-' ? cut.replace(/-[^-]*$/, '') : cut
  const slug = (wholeWords.length > cut.length / 3 ? wholeWords : cut).replace(/-+$/, '')
  return slug === '' ? kind : slug
}

function shortName(text: string, bytes: number): string {
  return cutBytes(safeFileName(text), bytes).replace(/[.-]+$/, '')
}

function withoutDevice(component: string): string {
  return isDeviceName(component) ? `_${component}` : component
}
