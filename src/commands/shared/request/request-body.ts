import type { Context } from '../../../context.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { decodeText, invalidTextClause, readInputFile } from '../../../files/input-file.ts'
import { shownPath } from '../../../files/file-error.ts'
import { readStandardInputText } from '../input/standard-input.ts'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isProblem, type ProblemList } from '../../../problems.ts'
import { parseJson } from '../../../files/parse-json.ts'
import type { CommonOptions } from '../options/common-options.ts'
import { parseSet, setPath } from './set-path.ts'
import type { Body } from '../../../operations/operation.ts'

/** The text of a flag's value, and where it was read from. */
interface FlagValue {
  readonly text: string
  /** Starts a message: `--tools`, `--tools: "a.json"`, `--tools: standard input`. */
  readonly location: string
  readonly isInline: boolean
}

/**
 * Resolves the value of a flag: `@file` is the text of a file, `@-` that of standard input, anything else is itself.
 * Files may be UTF-8, or UTF-16 with a byte order mark.
 * @throws UsageError for an empty or non-text file, FileError for a missing or unreadable one; both name the flag
 */
export async function readFlagValue(context: Context, flag: string, value: string): Promise<FlagValue> {
  if (!value.startsWith('@')) return { text: value, location: flag, isInline: true }
  if (value === '@-') {
    const text = await readStandardInputText(context, `${flag} @-`)
    return { text, location: `${flag}: standard input`, isInline: false }
  }
  const path = value.slice(1)
  const location = `${flag}: ${shownPath(path)}`
  if (path === '') throw new UsageError(`${flag} has no file name after "@".`)
  const bytes = await readInputFile(context, path)
  if (bytes instanceof ModelgateError) throw ofFlag(flag, bytes)
  const { text, invalid } = decodeText(bytes)
  if (text === undefined) {
    throw new UsageError(`${location} ${invalidTextClause(invalid)}.`, { code: 'wrong_type' })
  }
  return { text, location, isInline: false }
}

/** The same error, where it is a problem of the input, with the flag in front of its message. */
export function ofFlag(flag: string, error: unknown): unknown {
  return isProblem(error) ? error.amend({ message: `${flag}: ${error.message}` }) : error
}

/** Runs what finds problems of a flag's value, and puts the flag in front of them. */
export function underFlag<Value>(flag: string, run: () => Value): Value {
  try {
    return run()
  } catch (error) {
    throw ofFlag(flag, error)
  }
}

/**
 * The value of a flag that takes JSON: inline, `@file` or `@-`.
 * A key `__proto__` in it is an ordinary own key; never copy the value with `Object.assign`.
 * @param flag with its dashes: `--tools`
 * @throws UsageError `invalid_request` with line and column; UsageError and FileError as `readFlagValue` does
 */
export async function parseJsonFlag(context: Context, flag: string, value: string): Promise<unknown> {
  const read = await readFlagValue(context, flag, value)
  if (!read.isInline) return jsonOf(read)
  const looksLikeFile = !/^\s*[[{"]/.test(value) && (await isFile(resolve(context.cwd, value)))
  return jsonOf(read, looksLikeFile ? fileHint(flag, value) : fileHint(flag, 'FILE'))
}

/**
 * Like `parseJsonFlag`, for flags whose JSON is an object or a list, usually in a file: text that starts with neither
 * a bracket nor `@` is a file name.
 */
export async function parseJsonFileFlag(context: Context, flag: string, value: string): Promise<unknown> {
  return parseJsonFlag(context, flag, /^\s*[[{@]/.test(value) ? value : `@${value}`)
}

/**
 * Parses the text of a flag as JSON.
 * @throws UsageError `invalid_request` with line and column
 */
export function jsonOf({ text, location }: FlagValue, hint?: string): unknown {
  const { value, problem } = parseJson(text)
  if (problem === undefined) return value
  throw new UsageError(`${location} ${problem}.`, {
    code: 'invalid_request',
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

/**
 * The value of a text flag (`--system`, `--instructions`) or a prompt: the text itself, or with a leading `@` the
 * content of that file (`@notes.txt`) or of standard input (`@-`). `\@` starts a text with a literal `@`. Text that
 * starts with `@` but names no file is an error whose hint explains the escape.
 * @throws UsageError, FileError as `readFlagValue` does
 */
export async function parseTextFlag(context: Context, flag: string, value: string): Promise<string> {
  if (value.startsWith(String.raw`\@`)) return value.slice(1)
  try {
    const { text } = await readFlagValue(context, flag, value)
    return text
  } catch (error) {
    throw error instanceof ModelgateError && notAFileName.has(error.code) ? withEscape(error, value) : error
  }
}

// Errors of the system for text that was never meant to be a path.
const notAFileName = new Set(['not_found', 'bad_file_name'])

function withEscape(error: ModelgateError, value: string): ModelgateError {
  const start = `${value.slice(0, 20)}${value.length > 20 ? '…' : ''}`
  return error.amend({
    hint: `Text that starts with "@" names a file. To send the text itself, write it as '\\${start}'.`,
  })
}

/** The initial body from `--body`, or an empty one. */
export async function startBody(context: Context, options: CommonOptions): Promise<Body> {
  if (options.body === undefined) return {}
  const value = await parseJsonFlag(context, '--body', options.body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('--body must be a JSON object.')
  }
  return value as Body
}

/**
 * Sets a field of the body by its path and creates missing parents.
 * @param flag the flag that sets it, for the message
 * @throws UsageError `invalid_request` for a name that is not allowed, or if a parent is text or a number
 */
export function setField(body: Body, path: readonly string[], value: unknown, flag = '--set'): void {
  const name = path[0]!
  try {
    body[name] = setPath(body, path, value)[name]
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw error.amend({ message: error.message.replace('--set', flag) })
  }
}

/** Applies `--set`, which comes last and can set any field. */
export async function applySets(options: CommonOptions, body: Body, problems: ProblemList): Promise<void> {
  for (const text of options.set ?? []) {
    await problems.check(() => {
      const { path, value } = parseSet(text)
      setField(body, path, value)
    })
  }
}

/** Whether `--set` sets a top-level field or part of it. Invalid values set nothing. */
export function isSet(options: CommonOptions, field: string): boolean {
  return (options.set ?? []).some((text) => {
    try {
      return parseSet(text).path[0] === field
    } catch {
      return false
    }
  })
}
