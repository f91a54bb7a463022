import type { Budget } from '../budget.ts'
import type { JsonObject } from '../json-value.ts'
import { numberOf, textOf } from '../json-value.ts'
import type { Random } from '../seeded-random.ts'
import { pick } from '../seeded-random.ts'
import { compilePattern } from './sample-pattern.ts'
import type { SamplePattern } from './sample-pattern.ts'

const words = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'harbor', 'island', 'juniper']

const two = (random: Random, least: number, most: number) =>
  String(least + Math.floor(random() * (most - least + 1))).padStart(2, '0')
const date = (random: Random) => `2026-${two(random, 1, 12)}-${two(random, 1, 28)}`
const time = (random: Random) => `${two(random, 0, 23)}:${two(random, 0, 59)}:${two(random, 0, 59)}Z`
const hex = (random: Random, length: number) =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')

const formats: Readonly<Record<string, (random: Random) => string>> = {
  date,
  time,
  'date-time': (random) => `${date(random)}T${time(random)}`,
  duration: () => 'PT15M',
  email: (random) => `${pick(random, words)}@example.com`,
  'idn-email': (random) => `${pick(random, words)}@example.com`,
  hostname: (random) => `${pick(random, words)}.example.com`,
  'idn-hostname': (random) => `${pick(random, words)}.example.com`,
  ipv4: (random) => `192.0.2.${Number(two(random, 1, 99))}`,
  ipv6: (random) => `2001:db8::${hex(random, 3)}`,
  uri: (random) => `https://example.com/${pick(random, words)}`,
  url: (random) => `https://example.com/${pick(random, words)}`,
  iri: (random) => `https://example.com/${pick(random, words)}`,
  'uri-reference': (random) => `/${pick(random, words)}`,
  'iri-reference': (random) => `/${pick(random, words)}`,
  'uri-template': () => 'https://example.com/{id}',
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
  'json-pointer': (random) => `/${pick(random, words)}`,
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

/** A sampler for one value; it reads each pattern once, however many texts are made of it. */
export function createStringSampler(random: Random, budget: Budget): StringSampler {
  const patterns = new Map<string, SamplePattern>()
  return (schema, name) => {
    const least = numberOf(schema['minLength']) ?? 0
    const most = numberOf(schema['maxLength']) ?? Infinity
    const pattern = textOf(schema['pattern'])
    if (pattern !== '') {
      const known = patterns.get(pattern) ?? compilePattern(pattern, budget)
      patterns.set(pattern, known)
      return patterned(known, random, least, most)
    }
    const format = textOf(schema['format'])
    if (Object.hasOwn(formats, format)) return formats[format]!(random)
    budget.spend(Math.max(least, name.length))
    return plain(random, name, least, most)
  }
}

function plain(random: Random, name: string, least: number, most: number): string {
  const label = name === '' ? '' : `${name.replaceAll('_', ' ')} `
  const word = pick(random, words)
  const full = `[sandbox] ${label}${word}`
  const text = [...full].length > most ? word : full
  return [...text.padEnd(least, ` ${word}`)].slice(0, most).join('').trimEnd().padEnd(least, 'x')
}

/** Repeats are made longer until the text is long enough; the pattern outranks a length it cannot meet. */
function patterned(sample: SamplePattern, random: Random, least: number, most: number): string {
  for (let extra = 0; extra < 40; extra++) {
    const text = sample(random, extra < 20 ? extra : least)
    if (text.length >= least && text.length <= most) return text
  }
  return sample(random, 0)
}
