import { grouped } from '../quantities.ts'

/** For a model that takes more than a list of sizes, by the names that configurations and documents have. In pixels. */
export interface SizeRule {
  readonly multiple_of: number
  /** How many times the shorter edge the longer one may be, at most. */
  readonly max_ratio: number
  readonly max_edge: number
  /** Bounds of width times height. */
  readonly min_pixels: number
  readonly max_pixels: number
}

function clausesOf(rule: SizeRule): [clause: string, holds: (width: number, height: number) => boolean][] {
  const { multiple_of: step, max_ratio: ratio, max_edge: edge, min_pixels: least, max_pixels: most } = rule
  return [
    [`edges that are multiples of ${step}`, (width, height) => width % step === 0 && height % step === 0],
    [`a ratio from 1:${ratio} to ${ratio}:1`, (...edges) => Math.max(...edges) <= ratio * Math.min(...edges)],
    [`edges of at most ${edge}`, (...edges) => Math.max(...edges) <= edge],
    [
      `${grouped(least)} to ${grouped(most)} pixels`,
      (width, height) => width * height >= least && width * height <= most,
    ],
  ]
}

/**
 * As a clause after the field's name: "must have edges that are multiples of 16".
 * @param words allowed besides sizes: `auto`
 */
export function sizeProblem(rule: SizeRule, words: readonly string[], size: unknown): string | undefined {
  if (words.some((word) => word === size)) return undefined
  const [, width, height] =
    /^([1-9]\d{0,5})x([1-9]\d{0,5})$/.exec(typeof size === 'string' ? size : '')?.map(Number) ?? []
  if (width === undefined || height === undefined) return `must be ${formText(words)}`
  const broken = clausesOf(rule).flatMap(([clause, holds]) => (holds(width, height) ? [] : [clause]))
  return broken.length === 0 ? undefined : `must have ${broken.join(' and ')}`
}

/** `auto or WIDTHxHEIGHT, with edges that are multiples of 16, …`. */
export function sizeText(rule: SizeRule, words: readonly string[]): string {
  const clauses = clausesOf(rule).map(([clause]) => clause)
  return `${formText(words)}, with ${clauses.slice(0, -1).join(', ')} and ${clauses.at(-1)}`
}

function formText(words: readonly string[]): string {
  return [...words, 'WIDTHxHEIGHT'].join(' or ')
}
