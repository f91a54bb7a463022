import * as v from 'valibot'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'

/** Reports what is wrong with a value: the keys that lead to it, and a clause that follows them. */
export type Report = (keys: readonly string[], message: string, input?: unknown) => void

/** Checks a value beyond its shape, also where a part of it is wrong, so that every problem is reported at once. */
export function check<Value>(rule: (given: unknown, report: Report) => void): v.RawCheckAction<Value> {
  return v.rawCheck(({ dataset, addIssue }) => rule(dataset.value, (...issue) => addIssue(issueAt(...issue))))
}

export function checkKeys<Value>(
  rule: (keys: ReadonlySet<string>, report: Report) => void,
): v.RawCheckAction<Value> {
  return check((given, report) => {
    if (isObject(given)) rule(new Set(Object.keys(given)), report)
  })
}

function issueAt(keys: readonly string[], message: string, input?: unknown) {
  const path = keys.map((key) => ({ type: 'object', origin: 'value', input: {}, key, value: input }) as const)
  return { message, input, ...(path.length > 0 && { path: path as [(typeof path)[0], ...typeof path] }) }
}

/** A mapping of these keys. @param unknown what is wrong with another, as a clause; the nearest or all of them follow */
export function mapping<const Entries extends v.ObjectEntries>(
  entries: Entries,
  problem: string,
  unknown: string,
) {
  const known = Object.keys(entries)
  return v.pipe(
    v.custom<JsonObject>(isObject, problem),
    // `toJsonSchema` closes it: unlike `strictObject`, this reports each unknown key, with the nearest name.
    v.looseObject(entries),
    check((given, report) => {
      for (const [key, value] of Object.entries(given as JsonObject)) {
        if (known.includes(key)) continue
        const near = nearestName(key, known)
        report(
          [key],
          unknown + (near === undefined ? `: ${known.join(', ')}` : `; did you mean ${near}?`),
          value,
        )
      }
    }),
  )
}

/** A mapping from any name. The result has no prototype, so that a model called `toString` has no value by accident. */
export function byName<Value>(value: v.GenericSchema<unknown, Value>, problem: string) {
  return v.pipe(
    v.custom<JsonObject>(isObject, problem),
    v.record(v.string(), value),
    v.transform(withoutPrototype),
  )
}

export function withoutPrototype<Values extends object>(values: Values): Values {
  return Object.assign(Object.create(null) as Values, values)
}

/** A value that a function reads. @param json the same for editors; what JSON Schema cannot express, it accepts */
export function parsed<Value, Given>(
  problem: string,
  parse: (given: Given, report: Report) => Value,
  isGiven: (value: unknown) => value is Given,
  json: JsonObject,
): v.GenericSchema<unknown, Value> {
  return v.pipe(
    v.custom<Given>(isGiven, problem),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      let isRight = true
      const found = parse(dataset.value, (...issue) => {
        isRight = false
        addIssue(issueAt(...issue))
      })
      return isRight ? found : NEVER
    }),
    v.metadata(json),
  )
}

/** A finite number, with only the first of its problems. */
export function numberFrom(least: number, { isWhole = false } = {}) {
  const message = `must be a number from ${least}`
  const bounded = v.pipe(v.number(), v.finite(), v.minValue(least))
  const whole = v.pipe(bounded, v.integer(`must be a whole number from ${least}`))
  return v.config(isWhole ? whole : bounded, { abortPipeEarly: true, message })
}
