import type { Context } from '../../context.ts'
import { parseJsonFlag } from '../shared/json-value.ts'
import { setField, type Body } from '../shared/request-body.ts'

/**
 * Asks for an answer that follows the schema of `--schema` (`text.format`, wire facts, section 2, "Input"),
 * and hands the schema back for the check of the answer.
 */
export async function applyAnswerSchema(
  context: Context,
  text: string | undefined,
  body: Body,
): Promise<unknown> {
  if (text === undefined) return undefined
  const schema = await parseJsonFlag(context, '--schema', /^\s*[[{@]/.test(text) ? text : `@${text}`)
  const { title } = schema as { title?: unknown }
  const name = typeof title === 'string' ? title.replaceAll(/[^\w-]+/g, '_').slice(0, 64) : ''
  setField(body, ['text', 'format'], { type: 'json_schema', name: name || 'answer', schema })
  return schema
}
