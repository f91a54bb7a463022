import { RequestProblem } from './problem.ts'

const maxDepth = 512
/** Values and names in one body. Each takes much more memory than the two bytes that it needs on the wire. */
const maxValues = 100_000

const quote = 0x22
const backslash = 0x5c
/** What begins a value behind another, a list or an object: `,`, `[` and `{`; and what ends one of the latter. */
const [comma, openList, openObject, closeList, closeObject] = [0x2c, 0x5b, 0x7b, 0x5d, 0x7d]

/**
 * Counts the values and the nesting of JSON while its bytes arrive, so that what would fill the memory or the stack is
 * never parsed. The bytes need not be JSON: whatever else they are is found when they are parsed.
 * @returns takes the next bytes; throws RequestProblem 400 at the first one that is too much
 */
export function createJsonMeter(): (bytes: Buffer) => void {
  let isInString = false
  /** The last byte was a backslash that escapes the next one. */
  let isEscaping = false
  let depth = 0
  let values = 0
  return (bytes) => {
    let at = 0
    while (at < bytes.length) {
      if (isInString) {
        const end = endOfString(bytes, at, isEscaping)
        isEscaping = end === bytes.length && endsEscaping(bytes, at, isEscaping)
        isInString = end === bytes.length
        at = end + 1
        continue
      }
      const byte = bytes[at++]!
      if (byte === quote) isInString = true
      else if (byte === closeList || byte === closeObject) depth--
      else if (byte === comma) values++
      else if (byte === openList || byte === openObject) {
        values++
        depth++
      }
      if (values > maxValues) throw refused(`holds more than ${maxValues} values`)
      if (depth > maxDepth) throw refused(`nests deeper than ${maxDepth} levels`)
    }
  }
}

/** Where the string ends that goes on at `from`; the length of the bytes when it does not end there. */
function endOfString(bytes: Buffer, from: number, isEscaping: boolean): number {
  let end = bytes.indexOf(quote, from)
  while (end !== -1 && endsEscaping(bytes.subarray(0, end), from, isEscaping))
    end = bytes.indexOf(quote, end + 1)
  return end === -1 ? bytes.length : end
}

/** Whether the byte behind these is escaped: an odd number of backslashes stands before it. */
function endsEscaping(bytes: Buffer, from: number, isEscaping: boolean): boolean {
  let first = bytes.length
  while (first > from && bytes[first - 1] === backslash) first--
  // A backslash at the start may be escaped itself by the one before these bytes.
  const count = bytes.length - first + (first === from && isEscaping ? 1 : 0)
  return count % 2 === 1
}

function refused(problem: string): RequestProblem {
  return new RequestProblem(400, `The body of the request ${problem}.`, {
    code: 'sandbox_limit_exceeded',
    // The rest of the body may still be under way, so the connection cannot be used again.
    headers: { connection: 'close' },
  })
}
