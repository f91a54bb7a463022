import * as v from 'valibot'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'

/** Reports what is wrong with a value: the keys that lead to it, and a clause that follows them. */
export type Report = (keys: readonly string[], message: string, input?: unknown) => void

/**
 * A mapping that a function reads, with every problem where it is.
 * @param problem what is wrong with a value that is none, as a clause
 */
export function mappingSchema<Value, Given extends object = JsonObject>(
  problem: string,
  parse: (mapping: Given, report: Report) => Value,
  isGiven = isObject as (value: unknown) => value is Given,
): v.GenericSchema<unknown, Value> {
  return v.pipe(
    v.custom<Given>(isGiven, problem),
    v.rawTransform(({ dataset: { value: mapping }, addIssue, NEVER }) => {
      let isRight = true
      const found = parse(mapping, (keys, message, input) => {
        isRight = false
        const path = keys.map(
          (key) => ({ type: 'object', origin: 'value', input: {}, key, value: input }) as const,
        )
        addIssue({ message, input, path: path as [(typeof path)[0], ...typeof path] })
      })
      return isRight ? found : NEVER
    }),
  )
}

/** What is wrong with a key that is none of those that are known, as a clause. */
export function unknownKey(problem: string, key: string, known: readonly string[]): string {
  const near = nearestName(key, known)
  return near === undefined ? `${problem}: ${known.join(', ')}` : `${problem}; did you mean ${near}?`
}
