import type { Context } from '../../context.ts'
import { readAnswerSchema, type AnswerSchema } from '../shared/answer-schema.ts'
import { setField, type Body } from '../shared/request-body.ts'

/**
 * Asks for an answer that follows the schema of `--schema` (`text.format`, wire facts, section 2, "Input"),
 * and hands the schema back for the check of the answer.
 */
export async function applyAnswerSchema(
  context: Context,
  text: string | undefined,
  body: Body,
): Promise<AnswerSchema | undefined> {
  if (text === undefined) return undefined
  const answer = await readAnswerSchema(context, text)
  const { title } = answer.schema as { title?: unknown }
  const name = typeof title === 'string' ? title.replaceAll(/[^\w-]+/g, '_').slice(0, 64) : ''
  const format = { type: 'json_schema', name: name || 'answer', schema: answer.schema }
  setField(body, ['text', 'format'], format, '--schema')
  return answer
}
