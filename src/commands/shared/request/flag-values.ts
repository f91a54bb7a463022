import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { isList, type Field } from '../../../contract/field.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { shownPath } from '../../../files/file-error.ts'
import { decodeText, readInputFile } from '../../../files/input-file.ts'
import { parseJson } from '../../../files/parse-json.ts'
import { isProblem } from '../../../problems.ts'
import { readStandardInputText } from '../input/standard-input.ts'

interface FlagValue {
  readonly text: string
  /** Starts a message: `--tools`, `--tools: "a.json"`, `--tools: standard input`. */
  readonly location: string
}

/** `@file` is the text of a file (UTF-8, or UTF-16 with a byte order mark), `@-` that of standard input. */
async function readFlagValue(context: Context, flag: string, value: string): Promise<FlagValue> {
  if (!value.startsWith('@')) return { text: value, location: flag }
  if (value === '@-') {
    const text = await readStandardInputText(context, `${flag} @-`)
    return { text, location: `${flag}: standard input` }
  }
  const path = value.slice(1)
  const location = `${flag}: ${shownPath(path)}`
  if (path === '') throw new UsageError(`${flag} has no file name after "@".`)
  const bytes = await readInputFile(context, path)
  if (bytes instanceof ModelgateError) throw ofFlag(flag, bytes)
  const { text, problem } = decodeText(bytes)
  if (text === undefined) throw new UsageError(`${location} ${problem}.`, { code: 'wrong_type' })
  return { text, location }
}

export function ofFlag(flag: string, error: unknown): unknown {
  return isProblem(error) ? error.amend({ message: `${flag}: ${error.message}` }) : error
}

export function underFlag<Value>(flag: string, run: () => Value): Value {
  try {
    return run()
  } catch (error) {
    throw ofFlag(flag, error)
  }
}

/**
 * Inline, `@file` or `@-`. A key `__proto__` in it is an ordinary own key; never copy the value with `Object.assign`.
 * @throws UsageError `invalid_request` with line and column
 */
export async function parseJsonFlag(context: Context, flag: string, value: string): Promise<unknown> {
  if (value.startsWith('@')) return jsonOf(await readFlagValue(context, flag, value))
  const isJson = /^\s*[[{"]/.test(value)
  const file = isJson ? undefined : await stat(resolve(context.cwd, value)).catch(() => undefined)
  return jsonOf(
    { text: value, location: flag },
    `To read JSON from a file: ${flag} @${file?.isFile() ? value : 'FILE'}`,
  )
}

/** For an object or a list, usually in a file: text that starts with neither a bracket nor `@` is a file name. */
export async function parseJsonFileFlag(context: Context, flag: string, value: string): Promise<unknown> {
  return parseJsonFlag(context, flag, /^\s*[[{@]/.test(value) ? value : `@${value}`)
}

function jsonOf({ text, location }: FlagValue, hint?: string): unknown {
  const { value, problem } = parseJson(text)
  if (problem === undefined) return value
  throw new UsageError(`${location} ${problem}.`, { code: 'invalid_request', hint })
}

/** The text itself, `@notes.txt` or `@-`; `\@` starts a text with a literal `@`. */
export async function parseTextFlag(context: Context, flag: string, value: string): Promise<string> {
  if (value.startsWith(String.raw`\@`)) return value.slice(1)
  try {
    return (await readFlagValue(context, flag, value)).text
  } catch (error) {
    if (!(error instanceof ModelgateError) || !notAFileName.has(error.code)) throw error
    const start = `${value.slice(0, 20)}${value.length > 20 ? '…' : ''}`
    throw error.amend({
      hint: `Text that starts with "@" names a file. To send the text itself, write it as '\\${start}'.`,
    })
  }
}

// Errors of the system for text that was never meant to be a path.
const notAFileName = new Set(['not_found', 'bad_file_name'])

/** @param given as commander keeps it: a text, the texts of a repeated flag, or a boolean */
export async function fieldValue(
  context: Context,
  flag: string,
  field: Field,
  given: unknown,
): Promise<unknown> {
  if (typeof given === 'boolean') return given
  const texts = [given as string | string[]].flat()
  const text = texts[0]!
  if (field.nullable && texts.length === 1 && text === 'null') return null
  if (isList(field)) return listOf(context, flag, texts)
  const types: readonly string[] = typeof field.type === 'string' ? [field.type] : field.type
  if (types.includes('number') || types.includes('integer')) {
    // Invalid numbers stay text; the contract check reports them with all other problems.
    return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
  }
  if (!types.includes('string')) return parseJsonFlag(context, flag, text)
  return types.length === 1 ? text : textOrJson(context, flag, text)
}

const looksLikeJson = /^\s*[[{]/

/** The first character distinguishes text and JSON, in a file as well. */
async function textOrJson(context: Context, flag: string, text: string): Promise<unknown> {
  if (!text.startsWith('@')) {
    return looksLikeJson.test(text) ? parseJsonFlag(context, flag, text) : parseTextFlag(context, flag, text)
  }
  const value = await readFlagValue(context, flag, text)
  return looksLikeJson.test(value.text) ? jsonOf(value) : value.text
}

async function listOf(context: Context, flag: string, texts: readonly string[]): Promise<unknown> {
  const [text = '', ...others] = texts
  if (others.length > 0 || !/^\s*[[@]/.test(text)) return texts
  try {
    return await parseJsonFlag(context, flag, text)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    throw error.amend({
      hint: `To send the text itself, write it as a list: ${flag} '${JSON.stringify([text])}'`,
    })
  }
}
