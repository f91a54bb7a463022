import { objectsOf, textOf, type JsonObject } from '../json-value.ts'
import type { Wishes } from './scenario.ts'

const probabilities = ['NEGLIGIBLE', 'LOW', 'MEDIUM', 'HIGH']

/** The least probability that a threshold blocks, as an index of `probabilities`. */
const thresholds: Readonly<Record<string, number>> = {
  BLOCK_LOW_AND_ABOVE: 1,
  BLOCK_MEDIUM_AND_ABOVE: 2,
  HARM_BLOCK_THRESHOLD_UNSPECIFIED: 2,
  BLOCK_ONLY_HIGH: 3,
  BLOCK_NONE: Infinity,
  OFF: Infinity,
}

/** The category of everything that the sandbox calls unsafe. */
const unsafeCategory = 'HARM_CATEGORY_DANGEROUS_CONTENT'

/**
 * The ratings of an answer: one for every category that the request sets a threshold for, and with `sandbox:unsafe:low`,
 * `:medium` or `:high` (without a word: high) one that blocks the answer where its threshold says so.
 * @param refuses whether the model refuses, which blocks as well
 */
export function rateSafety(body: JsonObject, wishes: Wishes, refuses: boolean) {
  const settings = new Map(
    objectsOf(body['safetySettings']).map((setting) => [
      textOf(setting['category']),
      textOf(setting['threshold']),
    ]),
  )
  const isUnsafe = wishes.has('unsafe')
  const asked = probabilities.indexOf((wishes.get('unsafe') ?? 'high').toUpperCase())
  const level = isUnsafe ? Math.max(0, asked) : refuses ? 3 : 0
  const threshold = thresholds[settings.get(unsafeCategory) ?? ''] ?? thresholds['BLOCK_MEDIUM_AND_ABOVE']!
  const isBlocked = refuses || (isUnsafe && level >= threshold)
  if (isUnsafe || refuses) settings.set(unsafeCategory, '')
  const ratings = Array.from(settings.keys(), (category) =>
    category === unsafeCategory
      ? { category, probability: probabilities[level], blocked: isBlocked }
      : { category, probability: 'NEGLIGIBLE', blocked: false },
  )
  return { ratings, isBlocked }
}
