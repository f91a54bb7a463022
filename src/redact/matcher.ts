/** A message may be cut inside a secret: docs/environment.md promises to hide beginnings of this length. */
export const minPrefix = 16

/** A shorter end of a text is not waited for, unless the form is short: nearly every text ends with one. */
const minTail = 4

export interface Matcher {
  /** ASCII letters match in either case. @returns alternating starts and ends, ascending, without overlap */
  find(text: string): readonly number[]
  /** How many characters at the end may begin a form: 4 or more of a long one. */
  openTail(text: string): number
}

/** @param forms none of them empty */
export function createMatcher(forms: readonly string[]): Matcher {
  if (forms.length === 0) return { find: () => [], openTail: () => 0 }
  const prefixes = [...new Set(forms.map((form) => form.slice(0, minPrefix)))]
  const escaped = prefixes.map((prefix) => prefix.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
  const pattern = new RegExp(escaped.join('|'), 'gi')
  const byFirst = Map.groupBy(forms, (form) => fold(form.charCodeAt(0)))
  const formsAt = (text: string, at: number) => byFirst.get(fold(text.charCodeAt(at))) ?? []
  const maxLength = Math.max(...forms.map(({ length }) => length))

  return {
    find(text) {
      const spans: number[] = []
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const start = match.index
        const lengths = formsAt(text, start).map((form) => commonLength(form, text, start))
        const end = start + Math.max(match[0].length, ...lengths)
        const lastEnd = spans.at(-1) ?? -1
        if (start > lastEnd) spans.push(start, end)
        else spans[spans.length - 1] = Math.max(lastEnd, end)
        pattern.lastIndex = start + 1
      }
      return spans
    },
    openTail(text) {
      for (let start = Math.max(0, text.length - maxLength + 1); start < text.length; start++) {
        const rest = text.length - start
        const isOpen = (form: string) =>
          form.length > rest &&
          (rest >= minTail || form.length < minPrefix + minTail) &&
          commonLength(form, text, start) === rest
        if (formsAt(text, start).some(isOpen)) return rest
      }
      return 0
    },
  }
}

function fold(code: number): number {
  return code >= 65 && code <= 90 ? code | 32 : code
}

function commonLength(form: string, text: string, start: number): number {
  const limit = Math.min(form.length, text.length - start)
  let length = 0
  while (length < limit && fold(form.charCodeAt(length)) === fold(text.charCodeAt(start + length))) length++
  return length
}
