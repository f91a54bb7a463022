/** What should have stood at an offset and does not. */
export interface Misplaced {
  readonly offset: number
  readonly expected: string
}

const plainText = /[^"\\\0-\x1f]*/y
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** The end of a string whose opening quote stands at `start`. */
export function scanString(text: string, start: number): { readonly end: number } | Misplaced {
  let at = start + 1
  for (;;) {
    at = endOf(plainText, text, at) ?? at
    if (text[at] === '"') return { end: at + 1 }
    if (at === text.length) return { offset: at, expected: 'a closing quote' }
    if (text[at] !== '\\') return { offset: at, expected: 'no bare control character inside quotes' }
    const end = endOf(escapeSequence, text, at)
    if (end === undefined)
      return { offset: wrongInEscape(text, at), expected: 'an escape like \\n, \\" or \\u00e9' }
    at = end
  }
}

/** Where inside an escape sequence the text goes wrong. */
function wrongInEscape(text: string, start: number): number {
  if (text[start + 1] !== 'u') return start + 1
  return endOf(/[0-9a-fA-F]{0,4}/y, text, start + 2)!
}

const words = ['true', 'false', 'null']
const wholeNumber = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const startedNumber = /-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?/y

/** The end of a number, `true`, `false` or `null`. */
export function scanLiteral(
  text: string,
  at: number,
  expected: string,
): { readonly end: number } | Misplaced {
  const word = words.find((candidate) => candidate[0] === text[at])
  if (word !== undefined) {
    let length = 1
    while (length < word.length && text[at + length] === word[length]) length++
    return length === word.length ? { end: at + length } : { offset: at + length, expected: word }
  }
  const whole = endOf(wholeNumber, text, at) ?? at
  const started = endOf(startedNumber, text, at) ?? at
  if (started > whole) return { offset: started, expected: 'a digit' }
  return whole > at ? { end: whole } : { offset: at, expected }
}

const space = /[ \t\n\r]*/y

/** Where the white space that may start at `at` ends. */
export const skipSpace = (text: string, at: number) => endOf(space, text, at)!

/** Where a sticky pattern that starts at `at` ends, undefined when it does not fit. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}
