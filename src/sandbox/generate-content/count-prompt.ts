import { countTokens } from '../answer/tokens.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, objectOf, objectsOf } from '../json-value.ts'

/** What an image, a sound or a file counts, whatever its size. */
const mediaTokens = 258

/** Tokens of everything the model reads: contents, system instruction, tool declarations. */
export function countPrompt(body: JsonObject): number {
  const contents = [...objectsOf(body['contents']), objectOf(body['systemInstruction'])]
  const parts = contents.flatMap((content) => objectsOf(content['parts']))
  const tools = body['tools'] === undefined ? 0 : countTokens(JSON.stringify(body['tools']))
  return parts.reduce((sum, part) => sum + countPart(part), tools)
}

function countPart(part: JsonObject): number {
  if (typeof part['text'] === 'string') return countTokens(part['text'])
  return isObject(part['inlineData']) || isObject(part['fileData'])
    ? mediaTokens
    : countTokens(JSON.stringify(part))
}
