import { isDeeperThan, maxJsonDepth } from '../json.ts'

export type ParsedJson =
  | { readonly value: unknown; readonly problem?: never }
  | { readonly problem: string; readonly value?: never }

/**
 * The problem is a clause: `is not valid JSON: line 2, column 5: expected ":" …`. Keys such as `__proto__` become
 * plain own keys, so never copy the value with `Object.assign`.
 */
export function parseJson(text: string): ParsedJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { line, column, reason, excerpt } = describeJsonError(text, error as SyntaxError)
    const near = excerpt === '' ? '' : ` near \`${excerpt}\``
    return { problem: `is not valid JSON: line ${line}, column ${column}: ${reason}${near}` }
  }
  return isDeeperThan(value, maxJsonDepth)
    ? { problem: `is nested more than ${maxJsonDepth} levels deep` }
    : { value }
}

/** The place of the error that `JSON.parse` threw, and its reason, which does not quote the text. */
export function describeJsonError(text: string, { message }: SyntaxError) {
  // The only errors whose place is not in the message, which begins with the text itself for a word such as `undefined`.
  const isToken = /^(?:Unexpected token |")/.test(message)
  const match = /^(.+?)(?: in JSON)? at position (\d+)/.exec(isToken ? '' : message)
  const offset = isToken ? findUnexpectedToken(text) : Number(match?.[2] ?? text.length)
  // Messages without a position are about an unexpected token or the end of the text.
  const reason = match?.[1] ?? 'expected a value'
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return {
    /** In UTF-16 units; the length of the text when it ends too early. */
    offset,
    line: text.slice(0, offset).split('\n').length,
    column: text.slice(lineStart, offset).replaceAll(/[\udc00-\udfff]/g, '').length + 1,
    reason: reason.replace(/^./, (letter) => letter.toLowerCase()).replaceAll("'", '"'),
    excerpt: /^.*/
      .exec(text.slice(Math.max(lineStart, offset - 12), offset + 16))![0]
      .replaceAll(/[\0-\x1f\x7f]/g, ' ')
      .trim(),
  }
}

/** After the longest beginning that could still become JSON. */
function findUnexpectedToken(text: string): number {
  let [right, wrong] = [0, text.length]
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1
    if (isBeginning(text.slice(0, middle))) right = middle
    else wrong = middle
  }
  return right
}

function isBeginning(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as SyntaxError
    const [, place] = / at position (\d+)/.exec(message) ?? []
    return place === undefined ? message.startsWith('Unexpected end') : Number(place) === text.length
  }
}
