import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { parseJson } from '../../files/parse-json.ts'
import { readFlagValue, type FlagValue } from './flag-value.ts'

/**
 * The value of a flag that takes JSON: inline, `@file` or `@-`.
 * A key `__proto__` in it is an ordinary own key; never copy the value with `Object.assign`.
 * @param flag with its dashes: `--tools`
 * @throws UsageError `invalid_json` with line and column; UsageError and FileError as `readFlagValue` does
 */
export async function parseJsonFlag(context: Context, flag: string, value: string): Promise<unknown> {
  const read = await readFlagValue(context, flag, value)
  if (!read.isInline) return jsonOf(read)
  const looksLikeFile = !/^\s*[[{"]/.test(value) && (await isFile(resolve(context.cwd, value)))
  return jsonOf(read, looksLikeFile ? fileHint(flag, value) : fileHint(flag, 'FILE'))
}

/**
 * As `parseJsonFlag`, for a flag whose JSON is an object or a list and mostly stands in a file: text that starts with
 * neither a bracket nor `@` is the name of that file.
 */
export async function parseJsonFileFlag(context: Context, flag: string, value: string): Promise<unknown> {
  return parseJsonFlag(context, flag, /^\s*[[{@]/.test(value) ? value : `@${value}`)
}

/** What the text of a flag says as JSON. @throws UsageError `invalid_json` with line and column */
export function jsonOf({ text, place }: FlagValue, hint?: string): unknown {
  const { value, problem } = parseJson(text)
  if (problem === undefined) return value
  throw new UsageError(`${place} ${problem}.`, {
    code: 'invalid_json',
    ...(hint === undefined ? {} : { hint }),
  })
}

const fileHint = (flag: string, file: string) => `To read JSON from a file: ${flag} @${file}`

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
