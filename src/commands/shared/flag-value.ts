import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { decodeText, invalidTextClause } from '../../files/decode-text.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/read-input-file.ts'
import { readStandardInputText } from './standard-input.ts'

/** The text of a flag's value and a name for where it stood. */
export interface FlagValue {
  readonly text: string
  /** Starts a message: `--tools`, `--tools: "a.json"`, `--tools: standard input`. */
  readonly place: string
  readonly isInline: boolean
}

/**
 * Resolves the value of a flag: `@file` is the text of a file, `@-` that of standard input, anything else is itself.
 * Files may be UTF-8, or UTF-16 with a byte order mark.
 * @throws UsageError for a missing, empty or non-text file, FileError for an unreadable one; both name the flag
 */
export async function readFlagValue(context: Context, flag: string, value: string): Promise<FlagValue> {
  if (!value.startsWith('@')) return { text: value, place: flag, isInline: true }
  if (value === '@-') {
    const text = await readStandardInputText(context, `${flag} @-`)
    return { text, place: `${flag}: standard input`, isInline: false }
  }
  const path = value.slice(1)
  const place = `${flag}: ${shownPath(path)}`
  if (path === '') throw new UsageError(`${flag} lacks a file name after "@".`)
  const bytes = await readInputFile(context, path)
  if (bytes instanceof ModelgateError) throw ofFlag(flag, bytes)
  const { text, invalid } = decodeText(bytes)
  if (text === undefined) {
    throw new UsageError(`${place} ${invalidTextClause(invalid)}.`, { code: 'not_text' })
  }
  return { text, place, isInline: false }
}

/** The same error with the flag in front of its message. */
function ofFlag(flag: string, { exit, code, message, facts }: ModelgateError): ModelgateError {
  return new ModelgateError(exit, code, `${flag}: ${message}`, facts)
}
