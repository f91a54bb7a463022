/** Where and why a text is not JSON. Unlike V8's own message it never repeats a piece of the text. */
export interface JsonError {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  /** "expected a value" */
  readonly problem: string
}

type Expected = keyof typeof expectations

const expectations = {
  value: 'expected a value',
  valueOrEnd: 'expected a value or "]"',
  name: 'expected a property name in double quotes',
  nameOrEnd: 'expected a property name in double quotes, or "}"',
  colon: 'expected ":"',
  commaOrBrace: 'expected "," or "}"',
  commaOrBracket: 'expected "," or "]"',
  end: 'expected nothing more after the end',
}

const token =
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Finds the first token that JSON does not allow where it stands; undefined when the text is JSON. */
export function jsonError(text: string): JsonError | undefined {
  const open: string[] = []
  let expected: Expected = 'value'
  let offset = 0
  for (;;) {
    offset = skipSpace(text, offset)
    if (offset === text.length && expected === 'end') return undefined
    token.lastIndex = offset
    const found = token.exec(text)?.[0]
    const next: Expected | undefined = found === undefined ? undefined : after(found, expected, open)
    if (found === undefined || next === undefined)
      return { ...position(text, offset), problem: expectations[expected] }
    offset += found.length
    expected = next
  }
}

/** What may follow once `found` has been read, or undefined if it is not allowed here. */
function after(found: string, expected: Expected, open: string[]): Expected | undefined {
  const first = found[0] ?? ''
  if (expected === 'colon') return first === ':' ? 'value' : undefined
  if (expected === 'name' || expected === 'nameOrEnd') {
    if (first === '"') return 'colon'
    return first === '}' && expected === 'nameOrEnd' ? closed(open) : undefined
  }
  if (expected === 'commaOrBrace') return first === ',' ? 'name' : first === '}' ? closed(open) : undefined
  if (expected === 'commaOrBracket') return first === ',' ? 'value' : first === ']' ? closed(open) : undefined
  if (expected === 'end') return undefined
  if (first === ']') return expected === 'valueOrEnd' ? closed(open) : undefined
  if (first === '{' || first === '[') {
    open.push(first)
    return first === '{' ? 'nameOrEnd' : 'valueOrEnd'
  }
  return '},:'.includes(first) ? undefined : inside(open)
}

function closed(open: string[]): Expected {
  open.pop()
  return inside(open)
}

function inside(open: readonly string[]): Expected {
  const innermost = open.at(-1)
  if (innermost === undefined) return 'end'
  return innermost === '{' ? 'commaOrBrace' : 'commaOrBracket'
}

function skipSpace(text: string, from: number): number {
  let offset = from
  while (' \t\n\r'.includes(text[offset] ?? 'x')) offset++
  return offset
}

function position(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|\n|\r/)
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
