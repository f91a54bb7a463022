import type { Context } from '../../context.ts'
import type { Field } from '../../contract/field.ts'
import { ModelgateError } from '../../errors.ts'
import { readFlagValue } from './flag-value.ts'
import { jsonOf, parseJsonFlag } from './json-value.ts'
import { parseTextFlag } from './text-value.ts'

/**
 * What the flag of a field puts into the body.
 * @param given as commander keeps it: a text, the texts of a repeated flag, or a boolean
 * @throws UsageError, FileError as `parseJsonFlag` does
 */
export async function fieldValue(
  context: Context,
  flag: string,
  field: Field,
  given: unknown,
): Promise<unknown> {
  if (typeof given === 'boolean') return given
  const texts = Array.isArray(given) ? (given as string[]) : [given as string]
  const text = texts[0]!
  if (field.nullable && texts.length === 1 && text === 'null') return null
  if (isList(field)) return listOf(context, flag, texts)
  const types: readonly string[] = typeof field.type === 'string' ? [field.type] : field.type
  if (types.includes('number') || types.includes('integer')) return numberOf(text)
  if (!types.includes('string')) return parseJsonFlag(context, flag, text)
  return types.length === 1 ? text : textOrJson(context, flag, text)
}

/** Lists of plain texts are given by repeating the flag. */
export function isList(field: Field): boolean {
  return field.type === 'array' && field.items?.type === 'string'
}

const looksLikeJson = /^\s*[[{]/

/** Where both text and JSON are allowed, JSON shows itself by its first character, in a file as well. */
async function textOrJson(context: Context, flag: string, text: string): Promise<unknown> {
  if (!text.startsWith('@')) {
    return looksLikeJson.test(text) ? parseJsonFlag(context, flag, text) : parseTextFlag(context, flag, text)
  }
  const value = await readFlagValue(context, flag, text)
  return looksLikeJson.test(value.text) ? jsonOf(value) : value.text
}

async function listOf(context: Context, flag: string, texts: readonly string[]): Promise<unknown> {
  const [text = ''] = texts
  if (texts.length > 1 || !/^\s*[[@]/.test(text)) return texts
  try {
    return await parseJsonFlag(context, flag, text)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    const { exit, code, message, facts } = error
    const hint = `To send the text itself, write it as a list: ${flag} '${JSON.stringify([text])}'`
    throw new ModelgateError(exit, code, message, { ...facts, hint })
  }
}

/** What is no number stays text, and the check against the contract says so with all other problems. */
function numberOf(text: string): unknown {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}
