import * as v from 'valibot'
import { countOf, isDeeperThan, isObject, maxJsonDepth, type JsonObject } from '../../json.ts'

export const digestPattern = /^[0-9a-f]{64}$/

/** A value that passes a check; the message about any other is a clause: `is not a text`. */
function kind<Value>(name: string, is: (value: unknown) => boolean) {
  return v.custom<Value>(is, ({ input }) => (input == null ? 'is missing' : `is not ${name}`))
}

function notObject({ input }: { readonly input: unknown }): string {
  return input === undefined ? 'is missing' : 'is not an object'
}

const text = kind<string>('a text', (value) => typeof value === 'string')
const flag = kind<boolean>('true or false', (value) => typeof value === 'boolean')
const count = kind<number>('a whole number', (value) => countOf(value) !== null)
const ordinal = kind<number>('a whole number from 1', (value) => (countOf(value) ?? 0) > 0)
const seconds = kind<number>(
  'a number of seconds',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)
const digest = kind<string>(
  'a SHA-256 in hexadecimal',
  (value) => typeof value === 'string' && digestPattern.test(value),
)
const innerPath = kind<string>(
  'a path below the folder of the lock, with /',
  (value) => typeof value === 'string' && isInnerPath(value),
)
/** Deeper ones could not be written again. */
const usage = kind<JsonObject>(
  'an object of usual depth',
  (value) => isObject(value) && !isDeeperThan(value, maxJsonDepth),
)
const fieldDigests = kind<Readonly<Record<string, string>>>(
  'an object of fields and their digests',
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([name, short]) =>
        /^\$?[A-Za-z][\w.-]*$/.test(name) && typeof short === 'string' && /^[0-9a-f]{8,64}$/.test(short),
    ),
)

const noFile = 'is not a list with at least one file'

const outputFacts = v.object(
  {
    /** Relative to the output folder, with `/`. */
    path: innerPath,
    /** Of its bytes, in hexadecimal; of a text with LF. */
    sha256: digest,
    bytes: count,
    media_type: text,
    /** Pixels; null where it has none. */
    width: v.nullish(count, null),
    height: v.nullish(count, null),
    seconds: v.nullish(seconds, null),
    credentials: v.nullish(flag, false),
  },
  notObject,
)

const provenance = v.object({
  model: v.nullish(text, null),
  origin: v.nullish(text, null),
  request_id: v.nullish(text, null),
  job_id: v.nullish(text, null),
  usage: v.nullish(usage, null),
  took_s: v.nullish(seconds, null),
})

/** What one request has made, as the lock, `result.json`, workers and journals of version 0.1.0 tell it. */
export const resultSchema = v.object(
  {
    outputs: v.pipe(
      v.array(outputFacts, ({ input }) => (input == null ? 'is missing' : noFile)),
      v.nonEmpty(noFile),
      v.readonly(),
    ),
    ...provenance.entries,
  },
  notObject,
)

/** What the lock holds for one instance; members that are not listed are left out. */
const lockBlock = v.object(
  {
    key: digest,
    ...resultSchema.entries,
    /** A short digest of each field of the request, by the manifest's names. */
    fields: fieldDigests,
    /** The number of the candidate that became the output, from 1; null where there was only one. */
    picked: v.nullish(ordinal, null),
    /** Who locked a file that was there already, and on which day: `Ada, 2026-11-26`; of version 0.1.0 only who. */
    adopted: v.nullish(text, null),
    prompt: v.nullish(text, null),
  },
  notObject,
)

export type OutputFacts = Readonly<v.InferOutput<typeof outputFacts>>
export type Provenance = Readonly<v.InferOutput<typeof provenance>>
export type Result = Readonly<v.InferOutput<typeof resultSchema>>
export type LockBlock = Readonly<v.InferOutput<typeof lockBlock>>

export type Lock = ReadonlyMap<string, LockBlock>

/** Of a result that nobody knows more of than its files. */
export const unknownProvenance: Provenance = {
  model: null,
  origin: null,
  request_id: null,
  job_id: null,
  usage: null,
  took_s: null,
}

export function provenanceOf({ model, origin, request_id, job_id, usage, took_s }: Provenance): Provenance {
  return { model, origin, request_id, job_id, usage, took_s }
}

/** @param complain takes each mistake as a clause: `outputs[0].path is missing` */
export function readBlock(value: unknown, complain: (mistake: string) => void): LockBlock | undefined {
  const { success, output, issues } = v.safeParse(lockBlock, value)
  if (success) return output
  for (const { path = [], message } of issues) {
    const place = path.map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
    complain(`${place.slice(1) || 'it'} ${message}`)
  }
  return undefined
}

/** @returns undefined unless the value is a result that a lock would take */
export function readResult(value: unknown): Result | undefined {
  const { success, output } = v.safeParse(resultSchema, value)
  return success ? output : undefined
}

/**
 * Whether a path stays below the folder that it is relative to, on every system, and out of the folders of Git and of
 * this program.
 */
export function isInnerPath(path: string): boolean {
  return (
    path.isWellFormed() && !/[\0-\x1f\\]|^[a-z]:|(?:^|\/)(?:\.{0,2}|\.git|\.modelgate)(?:\/|$)/i.test(path)
  )
}
