import type { Random } from '../seeded-random.ts'
import { pick } from '../seeded-random.ts'

const lower = [...'abcdefghijklmnopqrstuvwxyz']
const digits = [...'0123456789']
const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
const wordCharacters = [...lower, ...lower.map((letter) => letter.toUpperCase()), ...digits, '_']
const classes: Readonly<Record<string, readonly string[]>> = {
  d: digits,
  w: wordCharacters,
  s: [' '],
  D: lower,
  W: ['-', ' ', '.'],
  S: lower,
}
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '0': '\0' }

interface Reader {
  readonly pattern: string
  readonly random: Random
  /** Added to the lower bound of repeats that have room above. */
  readonly extra: number
  at: number
  /** Repetitions left: a hostile pattern asks for more than anybody can hold. */
  repetitions: number
}

/** Text that a regular expression matches: literals, classes, groups, alternatives, repeats; look-arounds are empty. */
export function samplePattern(pattern: string, random: Random, extra: number): string {
  const reader: Reader = { pattern, random, extra, at: 0, repetitions: 100_000 }
  return alternatives(reader)()
}

type Writer = () => string

function alternatives(reader: Reader): Writer {
  const branches: Writer[] = [sequence(reader)]
  while (reader.pattern[reader.at] === '|') {
    reader.at++
    branches.push(sequence(reader))
  }
  return () => pick(reader.random, branches)()
}

function sequence(reader: Reader): Writer {
  const pieces: Writer[] = []
  while (reader.at < reader.pattern.length && !'|)'.includes(reader.pattern[reader.at]!)) {
    pieces.push(repeated(reader, atom(reader)))
  }
  return () => pieces.map((write) => write()).join('')
}

function atom(reader: Reader): Writer {
  const character = reader.pattern[reader.at++]!
  switch (character) {
    case '^':
    case '$':
      return () => ''
    case '.':
      return () => pick(reader.random, lower)
    case '(':
      return group(reader)
    case '[': {
      const members = characterClass(reader)
      return () => pick(reader.random, members)
    }
    case '\\': {
      const members = escaped(reader)
      return () => (members.length === 0 ? '' : pick(reader.random, members))
    }
    default:
      return () => character
  }
}

function group(reader: Reader): Writer {
  const prefix = /^\?(?::|<[A-Za-z_$][\w$]*>|[=!]|<[=!])/.exec(reader.pattern.slice(reader.at))?.[0] ?? ''
  reader.at += prefix.length
  const inside = alternatives(reader)
  reader.at++
  return /^\?<?[=!]/.test(prefix) ? () => '' : inside
}

/** The characters a `\` stands for; none for a word boundary. */
function escaped(reader: Reader): readonly string[] {
  const letter = reader.pattern[reader.at++] ?? '\\'
  if (classes[letter] !== undefined) return classes[letter]
  if (letter === 'b' || letter === 'B') return []
  const code = /^(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]+)\})/i.exec(
    reader.pattern.slice(reader.at - 1),
  )
  if (code !== null) {
    reader.at += code[0].length - 1
    return [String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? code[3]!, 16))]
  }
  const property = /^\{([^}]*)\}/.exec(reader.pattern.slice(reader.at))
  if (/[pP]/.test(letter) && property !== null) {
    reader.at += property[0].length
    if (letter === 'P') return ['-']
    return property[1]!.startsWith('N') ? digits : property[1] === 'Lu' ? ['A', 'B', 'C'] : lower
  }
  return [controls[letter] ?? letter]
}

function characterClass(reader: Reader): readonly string[] {
  const negated = reader.pattern[reader.at] === '^'
  if (negated) reader.at++
  const members = new Set<string>()
  while (reader.at < reader.pattern.length && reader.pattern[reader.at] !== ']') {
    const from = member(reader)
    if (reader.pattern[reader.at] === '-' && reader.pattern[reader.at + 1] !== ']' && from.length === 1) {
      reader.at++
      const to = member(reader)
      for (const character of range(from[0]!, to[0] ?? from[0]!)) members.add(character)
    } else {
      for (const character of from) members.add(character)
    }
  }
  reader.at++
  if (!negated) return members.size === 0 ? [''] : [...members]
  const rest = [...lower, ...digits, ...printable].filter((character) => !members.has(character))
  return rest.length === 0 ? ['é'] : rest
}

function member(reader: Reader): readonly string[] {
  const character = String.fromCodePoint(reader.pattern.codePointAt(reader.at)!)
  reader.at += character.length
  return character === '\\' ? escaped(reader) : [character]
}

/** At most 200 characters of a range: enough to choose from. */
function range(from: string, to: string): string[] {
  const [first, last] = [from.codePointAt(0)!, to.codePointAt(0)!]
  return Array.from({ length: Math.max(1, Math.min(last - first + 1, 200)) }, (_, index) =>
    String.fromCodePoint(first + index),
  )
}

function repeated(reader: Reader, write: Writer): Writer {
  const match = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(reader.pattern.slice(reader.at))
  if (match === null) return write
  reader.at += match[0].length
  const [least, most] = limits(match)
  return () => {
    const count = Math.max(0, Math.min(least + reader.extra, most, reader.repetitions))
    reader.repetitions -= count
    return Array.from({ length: count }, write).join('')
  }
}

function limits(match: RegExpExecArray): readonly [number, number] {
  const [, sign, from, comma, to] = match
  if (sign === '*') return [0, Infinity]
  if (sign === '+') return [1, Infinity]
  if (sign === '?') return [0, 1]
  if (comma === undefined) return [Number(from), Number(from)]
  return [Number(from), to === '' ? Infinity : Number(to)]
}
