import { videoStates } from '../../contract/videos.ts'
import { parseJson } from '../parse-json.ts'
import type { JobRecord } from './job-record.ts'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isTruth: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)
const isOneOf =
  (words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string)
const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && wrongField(checks, value) === undefined

const isVideo = hasFields({
  path: isText,
  bytes: isNumber,
  sha256: isText,
  mime_type: isText,
  format: isText,
  width: orNull(isNumber),
  height: orNull(isNumber),
  seconds: orNull(isNumber),
})
const isResult = hasFields({
  reply: (value) => value !== undefined,
  videos: (value) => Array.isArray(value) && value.length > 0 && value.every(isVideo),
})

const fields: Readonly<Record<Exclude<keyof JobRecord, 'result'>, Check>> = {
  version: (value) => Number.isInteger(value) && (value as number) >= 1,
  id: orNull(isText),
  kind: isOneOf(['video', 'operation']),
  command: isText,
  model: isText,
  prompt: isText,
  base_url: isText,
  is_sandbox: isTruth,
  request: (value) => value !== undefined,
  idempotency_key: isText,
  created_at: isNumber,
  checked_at: orNull(isNumber),
  state: isOneOf([...videoStates, 'unknown']),
  status: orNull(isText),
  progress: orNull(isNumber),
  expires_at: orNull(isNumber),
  files: (value) => Array.isArray(value) && value.every(isText),
  output: hasFields({ output: orNull(isText), folder: orNull(isText), force: isTruth, cwd: isText }),
  request_id: orNull(isText),
  error: orNull(hasFields({ code: isText, message: isText })),
}

export type DecodedRecord =
  | { readonly record: JobRecord; readonly problem?: never }
  | { readonly problem: string; readonly record?: never }

/** Reads a record as it was written, with fields that this version does not know. The problem is a clause. */
export function decodeRecord(text: string): DecodedRecord {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) return { problem }
  if (!isObject(value)) return { problem: 'is no JSON object' }
  const wrong = wrongField(Object.hasOwn(value, 'result') ? { ...fields, result: isResult } : fields, value)
  return wrong === undefined
    ? { record: value as unknown as JobRecord }
    : { problem: `has no usable "${wrong}"` }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrongField(
  checks: Readonly<Record<string, Check>>,
  value: Readonly<Record<string, unknown>>,
): string | undefined {
  return Object.keys(checks).find((name) => !Object.hasOwn(value, name) || !checks[name]!(value[name]))
}
