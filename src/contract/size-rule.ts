import { grouped } from '../quantities.ts'

/** The sizes that a model takes, where it takes more than a list of them. All lengths are in pixels. */
export interface SizeRule {
  /** Both edges are multiples of it. */
  readonly multipleOf: number
  /** The longer edge is at most so many times the shorter one. */
  readonly maxRatio: number
  readonly maxEdge: number
  /** Bounds of width times height. */
  readonly minPixels: number
  readonly maxPixels: number
}

/**
 * What is wrong with a size, as a clause that follows the field's name: "must have edges that are multiples of 16";
 * undefined for one of the words and for WIDTHxHEIGHT within the rule.
 * @param words allowed besides sizes: `auto`
 */
export function sizeProblem(rule: SizeRule, words: readonly string[], size: unknown): string | undefined {
  if (typeof size !== 'string') return `must be ${formText(words)}`
  if (words.includes(size)) return undefined
  const [, width, height] = /^([1-9]\d{0,5})x([1-9]\d{0,5})$/.exec(size)?.map(Number) ?? []
  if (width === undefined || height === undefined) return `must be ${formText(words)}`
  const { multipleOf, maxRatio, maxEdge, minPixels, maxPixels } = rule
  const pixels = width * height
  const broken = [
    ...(width % multipleOf === 0 && height % multipleOf === 0 ? [] : [clauses.multiple(rule)]),
    ...(Math.max(width, height) <= maxRatio * Math.min(width, height) ? [] : [clauses.ratio(rule)]),
    ...(Math.max(width, height) <= maxEdge ? [] : [clauses.edge(rule)]),
    ...(pixels >= minPixels && pixels <= maxPixels ? [] : [clauses.pixels(rule)]),
  ]
  return broken.length === 0 ? undefined : `must have ${broken.join(' and ')}`
}

/** The rule in words: `auto or WIDTHxHEIGHT, with edges that are multiples of 16, …`. */
export function sizeText(rule: SizeRule, words: readonly string[]): string {
  const { multiple, ratio, edge, pixels } = clauses
  return `${formText(words)}, with ${multiple(rule)}, ${ratio(rule)}, ${edge(rule)} and ${pixels(rule)}`
}

const clauses = {
  multiple: ({ multipleOf }: SizeRule) => `edges that are multiples of ${multipleOf}`,
  ratio: ({ maxRatio }: SizeRule) => `a ratio from 1:${maxRatio} to ${maxRatio}:1`,
  edge: ({ maxEdge }: SizeRule) => `edges of at most ${maxEdge}`,
  pixels: ({ minPixels, maxPixels }: SizeRule) => `${grouped(minPixels)} to ${grouped(maxPixels)} pixels`,
}

function formText(words: readonly string[]): string {
  return [...words, 'WIDTHxHEIGHT'].join(' or ')
}
