import * as v from 'valibot'
import { isDeeperThan, isObject, maxJsonDepth, type JsonObject } from '../../json.ts'

export const digestPattern = /^[0-9a-f]{64}$/

/** Of each mistake, as a clause. */
const wrong = ({ input }: { readonly input: unknown }) =>
  input === undefined ? 'is missing' : 'is not what a lock has there'

const text = v.string(wrong)
const count = v.pipe(v.number(wrong), v.safeInteger(wrong), v.minValue(0, wrong))
const seconds = v.pipe(v.number(wrong), v.finite(wrong), v.minValue(0, wrong))
const digest = v.pipe(text, v.regex(digestPattern, wrong))
/** Deeper ones could not be written again. */
const usage = v.custom<JsonObject>((value) => isObject(value) && !isDeeperThan(value, maxJsonDepth), wrong)
const fieldDigests = v.custom<Readonly<Record<string, string>>>(
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([name, short]) =>
        /^\$?[A-Za-z][\w.-]*$/.test(name) && typeof short === 'string' && /^[0-9a-f]{8,64}$/.test(short),
    ),
  wrong,
)

const outputFacts = v.object(
  {
    /** Relative to the output folder, with `/`. */
    path: v.pipe(text, v.check(isInnerPath, wrong)),
    /** Of its bytes, in hexadecimal; of a text with LF. */
    sha256: digest,
    bytes: count,
    media_type: text,
    /** Pixels; null where it has none. */
    width: v.nullish(count, null),
    height: v.nullish(count, null),
    seconds: v.nullish(seconds, null),
    credentials: v.nullish(v.boolean(wrong), false),
  },
  wrong,
)

const provenance = v.object({
  model: v.nullish(text, null),
  origin: v.nullish(text, null),
  request_id: v.nullish(text, null),
  job_id: v.nullish(text, null),
  usage: v.nullish(usage, null),
  took_s: v.nullish(seconds, null),
})

/** What one request has made, as the lock, `result.json`, workers and journals of version 0.1.0 have it. */
export const resultSchema = v.object(
  {
    outputs: v.pipe(v.array(outputFacts, wrong), v.nonEmpty(wrong), v.readonly()),
    ...provenance.entries,
  },
  wrong,
)

/** What the lock holds for one instance, in the order in which it is written; members that are not listed are left out. */
const lockBlock = v.object(
  {
    key: digest,
    outputs: resultSchema.entries.outputs,
    /** A short digest of each field of the request, by the manifest's names. */
    fields: fieldDigests,
    /** The number of the candidate that became the output, from 1; null where there was only one. */
    picked: v.nullish(v.pipe(count, v.minValue(1, wrong)), null),
    /** Who locked a file that was there already, and on which day: `Ada, 2026-11-26`; of version 0.1.0 only who. */
    adopted: v.nullish(text, null),
    ...provenance.entries,
    prompt: v.nullish(text, null),
  },
  wrong,
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

/** @param refuse takes the first mistake as a clause: `outputs[0].path is missing` */
export function readBlock(value: unknown, refuse: (mistake: string) => never): LockBlock {
  const { success, output, issues } = v.safeParse(lockBlock, value, { abortEarly: true })
  if (success) return output
  return refuse(`${v.getDotPath(issues[0]) ?? 'it'} ${issues[0].message}`)
}

/** A block as it is written: the same is always the same text. Members that say nothing are left out. */
export function compactBlock(block: LockBlock): object {
  const outputs = block.outputs.map((facts) => inOrder(outputFacts.entries, facts))
  const fields = Object.entries(block.fields).sort(([one], [other]) => (one < other ? -1 : 1))
  return inOrder(lockBlock.entries, { ...block, outputs, fields: Object.fromEntries(fields) })
}

function inOrder(entries: object, value: JsonObject): object {
  const present = Object.keys(entries).filter((name) => value[name] != null && value[name] !== false)
  return Object.fromEntries(present.map((name) => [name, value[name]]))
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
