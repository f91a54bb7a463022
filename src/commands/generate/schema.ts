import type { Context } from '../../context.ts'
import { readAnswerSchema, type AnswerSchema } from '../shared/answer-schema.ts'
import { setField, type Body } from '../shared/request-body.ts'

/**
 * Asks for an answer that follows the schema of `--schema` (`generationConfig`, wire facts, section 1,
 * "Request fields"), and hands the schema back for the check of the answer.
 */
export async function applyAnswerSchema(
  context: Context,
  text: string | undefined,
  body: Body,
): Promise<AnswerSchema | undefined> {
  if (text === undefined) return undefined
  const answer = await readAnswerSchema(context, text)
  setField(body, ['generationConfig', 'responseMimeType'], 'application/json', '--schema')
  setField(body, ['generationConfig', 'responseJsonSchema'], answer.schema, '--schema')
  return answer
}
