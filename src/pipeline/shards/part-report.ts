import * as v from 'valibot'
import { UsageError } from '../../errors.ts'
import { parseJson } from '../../files/parse-json.ts'
import { isObject } from '../../json.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { runExits } from '../run-exit.ts'

/**
 * What became of an instance in its part. `outdated`: it stands still, waits for a choice, or was not allowed to be
 * generated. `left`: the run was stopped before its turn.
 */
const outcomes = ['done', 'failed', 'unknown', 'outdated', 'left'] as const

/** The form of the report. A program refuses one of a higher number. */
const version = 1

const digest = v.pipe(v.string(), v.regex(digestPattern, 'is not a SHA-256'))
const ordinal = v.pipe(v.number(), v.integer(), v.minValue(1))

/** Only such names are ever opened, so that a part cannot reach other files. */
const fileName = v.pipe(
  v.string(),
  v.regex(/^(?:lock\.json|journal\.jsonl|blobs\/[0-9a-f]{64})$/, 'is not the name of a file of a part'),
)

const reportSchema = v.object({
  version: v.literal(version),
  /** SHA-256 of the manifest. */
  manifest: digest,
  /** Of the lock that the part began with, by `digestOfLock`. */
  lock: digest,
  shard: v.pipe(
    v.object({ index: ordinal, total: ordinal }),
    v.check(({ index, total }) => index <= total, 'is not a part of a whole'),
  ),
  /** The jobs that the call named; empty for all. */
  jobs: v.array(v.string()),
  exit: v.picklist(runExits),
  instances: v.array(
    v.object({
      id: v.string(),
      outcome: v.picklist(outcomes),
      /** The error that it failed with. */
      error: v.optional(
        v.object({
          exit: v.picklist(runExits),
          code: v.string(),
          message: v.string(),
          billed: v.picklist(['no', 'maybe', 'yes']),
        }),
      ),
    }),
  ),
  /** Names of the lock under which there is no block any more. */
  removed: v.array(v.string()),
  /** Keys of candidates and rejected results, which have records of their own. */
  candidates: v.array(digest),
  /** SHA-256 of the other files of the part, by their names. */
  files: v.record(fileName, digest),
})

/** What a part of a run says of itself, as `report.json` in its folder. */
export type PartReport = Readonly<Omit<v.InferOutput<typeof reportSchema>, 'version'>>
export type PartInstance = Readonly<PartReport['instances'][number]>

export function formatPartReport(report: PartReport): string {
  return `${JSON.stringify({ version, ...report }, null, 2)}\n`
}

/**
 * Reads what `formatPartReport` has written.
 * @param file its name for messages
 * @throws UsageError `part_damaged`, `part_newer`
 */
export function parsePartReport(text: string, file: string): PartReport {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) throw partDamaged(`${file} ${problem}.`)
  const found = isObject(value) ? value['version'] : undefined
  if (typeof found === 'number' && found > version) {
    throw new UsageError(`${file} has version ${found}; this program reads up to ${version}.`, {
      code: 'part_newer',
      hint: 'A newer modelgate has written it: update this one.',
    })
  }
  const { success, output, issues } = v.safeParse(reportSchema, value)
  if (success) return output
  const [issue] = issues
  const place = v.getDotPath(issue)
  throw partDamaged(
    `${file} is not the report of a part: ${place === null ? '' : `${place}: `}${issue.message}.`,
  )
}

/** A part of which something is missing, or not what it was. */
export function partDamaged(message: string): UsageError {
  return new UsageError(message, {
    code: 'part_damaged',
    hint: 'Fetch the part again from where it was made, or run it again; nothing was written.',
  })
}
