import type { Budget } from './budget.ts'
import { type JsonObject, numberOf, textOf } from '../json-value.ts'
import { type Random, pick } from '../seeded-random.ts'
import { limitExceeded } from '../http/request-problem.ts'

const words = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'harbor', 'island', 'juniper']

const two = (random: Random, min: number, max: number) =>
  String(min + Math.floor(random() * (max - min + 1))).padStart(2, '0')
const date = (random: Random) => `2026-${two(random, 1, 12)}-${two(random, 1, 28)}`
const time = (random: Random) => `${two(random, 0, 23)}:${two(random, 0, 59)}:${two(random, 0, 59)}Z`
const hex = (random: Random, length: number) =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')

const email = (random: Random) => `${pick(random, words)}@example.com`
const hostname = (random: Random) => `${pick(random, words)}.example.com`
const uri = (random: Random) => `https://example.com/${pick(random, words)}`
const path = (random: Random) => `/${pick(random, words)}`

const formats: Readonly<Record<string, (random: Random) => string>> = {
  date,
  time,
  'date-time': (random) => `${date(random)}T${time(random)}`,
  duration: () => 'PT15M',
  email,
  'idn-email': email,
  hostname,
  'idn-hostname': hostname,
  ipv4: (random) => `192.0.2.${Number(two(random, 1, 99))}`,
  ipv6: (random) => `2001:db8::${hex(random, 3)}`,
  uri,
  url: uri,
  iri: uri,
  'uri-reference': path,
  'iri-reference': path,
  'uri-template': () => 'https://example.com/{id}',
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
  'json-pointer': path,
  'relative-json-pointer': () => '0',
  regex: () => '^[a-z]+$',
  byte: (random) => Buffer.from(pick(random, words)).toString('base64'),
}

/**
 * Text that satisfies a schema's `format`, `pattern`, `minLength` and `maxLength`.
 * @param name of the property that the text is for
 * @throws RequestProblem when the budget is spent
 */
export type StringSampler = (schema: JsonObject, name: string) => string

/** Creates a sampler for one value, which parses each pattern only once. */
export function createStringSampler(random: Random, budget: Budget): StringSampler {
  const patterns = new Map<string, SamplePattern>()
  return (schema, name) => {
    const min = numberOf(schema['minLength']) ?? 0
    const max = numberOf(schema['maxLength']) ?? Infinity
    const pattern = textOf(schema['pattern'])
    if (pattern !== '') {
      const known = patterns.get(pattern) ?? compilePattern(pattern, budget)
      patterns.set(pattern, known)
      return patterned(known, random, min, max)
    }
    const format = textOf(schema['format'])
    if (Object.hasOwn(formats, format)) return formats[format]!(random)
    budget.spend(Math.max(min, name.length))
    return plain(random, name, min, max)
  }
}

function plain(random: Random, name: string, min: number, max: number): string {
  const label = name === '' ? '' : `${name.replaceAll('_', ' ')} `
  const word = pick(random, words)
  const full = `[sandbox] ${label}${word}`
  const text = [...full].length > max ? word : full
  return [...text.padEnd(min, ` ${word}`)].slice(0, max).join('').trimEnd().padEnd(min, 'x')
}

/**
 * Lengthens repeats until the text is long enough; the pattern takes precedence over a length that it cannot satisfy.
 */
function patterned(sample: SamplePattern, random: Random, min: number, max: number): string {
  for (let extra = 0; extra < 40; extra++) {
    const text = sample(random, extra < 20 ? extra : min)
    if (text.length >= min && text.length <= max) return text
  }
  return sample(random, 0)
}

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
const lastCodePoint = 0x10_ff_ff
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '0': '\0' }

/** Maximum nesting of groups in a pattern. */
const maxDepth = 100

interface Reader {
  readonly pattern: string
  readonly budget: Budget
  at: number
  depth: number
}

/**
 * Generates text that a regular expression, or a part of it, matches.
 * @param extra is added to the lower bound of repeats that allow more
 * @throws RequestProblem if the budget is spent: a short pattern can require any length
 */
type SamplePattern = (random: Random, extra: number) => string

/**
 * Parses a regular expression: literals, classes, groups, alternatives, repeats; look-arounds match the empty string.
 * @throws RequestProblem if it is nested too deeply or the budget is spent
 */
export function compilePattern(pattern: string, budget: Budget): SamplePattern {
  budget.spend(pattern.length)
  return alternatives({ pattern, budget, at: 0, depth: 0 })
}

function alternatives(reader: Reader): SamplePattern {
  const branches: SamplePattern[] = [sequence(reader)]
  while (reader.pattern[reader.at] === '|') {
    reader.at++
    branches.push(sequence(reader))
  }
  return (random, extra) => pick(random, branches)(random, extra)
}

function sequence(reader: Reader): SamplePattern {
  const pieces: SamplePattern[] = []
  while (reader.at < reader.pattern.length && !'|)'.includes(reader.pattern[reader.at]!)) {
    pieces.push(repeated(reader, atom(reader)))
  }
  return (random, extra) => {
    // Even if nothing is generated.
    reader.budget.spend(pieces.length)
    return pieces.map((write) => write(random, extra)).join('')
  }
}

function atom(reader: Reader): SamplePattern {
  const { budget } = reader
  const character = reader.pattern[reader.at++]!
  const oneOf = (members: readonly string[]): SamplePattern => {
    budget.spend(members.length)
    return (random) => {
      budget.spend(1)
      return members.length === 0 ? '' : pick(random, members)
    }
  }
  switch (character) {
    case '^':
    case '$':
      return () => ''
    case '.':
      return oneOf(lower)
    case '(':
      return group(reader)
    case '[':
      return oneOf(characterClass(reader))
    case '\\':
      return oneOf(escaped(reader))
    default:
      return oneOf([character])
  }
}

function group(reader: Reader): SamplePattern {
  const prefix = /^\?(?::|<[A-Za-z_$][\w$]*>|[=!]|<[=!])/.exec(reader.pattern.slice(reader.at))?.[0] ?? ''
  reader.at += prefix.length
  if (++reader.depth > maxDepth) {
    throw limitExceeded(`A pattern of the schema nests deeper than ${maxDepth} groups.`)
  }
  const inside = alternatives(reader)
  reader.depth--
  reader.at++
  return /^\?<?[=!]/.test(prefix) ? () => '' : inside
}

/** The characters of an escape; none for a word boundary. */
function escaped(reader: Reader): readonly string[] {
  const letter = reader.pattern[reader.at++] ?? '\\'
  if (classes[letter] !== undefined) return classes[letter]
  if (letter === 'b' || letter === 'B') return []
  const code = /^(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]+)\})/i.exec(
    reader.pattern.slice(reader.at - 1),
  )
  if (code !== null) {
    reader.at += code[0].length - 1
    const point = Number.parseInt(code[1] ?? code[2] ?? code[3]!, 16)
    return [String.fromCodePoint(Math.min(point, lastCodePoint))]
  }
  const property = /^\{([^}]{0,100})\}/.exec(reader.pattern.slice(reader.at))
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
      reader.budget.spend(maxRange * 4)
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
  const point = reader.pattern.codePointAt(reader.at)
  if (point === undefined) return []
  const character = String.fromCodePoint(point)
  reader.at += character.length
  return character === '\\' ? escaped(reader) : [character]
}

/** Maximum number of characters to choose from in a range. */
const maxRange = 200

function range(from: string, to: string): string[] {
  const [first, last] = [from.codePointAt(0)!, to.codePointAt(0)!]
  return Array.from({ length: Math.max(1, Math.min(last - first + 1, maxRange)) }, (_, index) =>
    String.fromCodePoint(first + index),
  )
}

function repeated(reader: Reader, write: SamplePattern): SamplePattern {
  const match = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(reader.pattern.slice(reader.at))
  if (match === null) return write
  reader.at += match[0].length
  const [min, max] = limits(match)
  return (random, extra) => {
    const count = Math.min(min + extra, max)
    let text = ''
    for (let round = 0; round < count; round++) {
      reader.budget.spend(1)
      text += write(random, extra)
    }
    return text
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
