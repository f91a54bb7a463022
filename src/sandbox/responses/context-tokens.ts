import { countTokens } from '../answer/answer.ts'
import { mediaText } from '../answer/prompt-cache.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'

/** What the model reads of an item: its texts, or the whole item as JSON. */
function textsOfItem(item: JsonObject): readonly string[] {
  // The model reads no ids.
  const { id: _, content, ...others } = item
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return [JSON.stringify({ ...others, content }, mediaReplaced)]
  return objectsOf(content).map(({ type, text, refusal, ...rest }) => {
    if (typeof text === 'string') return text
    if (typeof refusal === 'string') return refusal
    return textOf(type).startsWith('input_') ? mediaText(Object.values(rest)) : ''
  })
}

/** Fields that hold a picture or a file in items other than messages. */
const mediaFields = new Set(['image_url', 'file_data', 'result'])

function mediaReplaced(name: string, value: unknown): unknown {
  return mediaFields.has(name) && typeof value === 'string' ? mediaText([value]) : value
}

function countItem(item: JsonObject): number {
  return textsOfItem(item).reduce((sum, text) => sum + countTokens(text), 0)
}

function preambleOf({ instructions, tools }: JsonObject): readonly string[] {
  return [textOf(instructions), tools === undefined ? '' : JSON.stringify(tools)]
}

/**
 * Makes the input fit the context window: with `truncation: auto` items are dropped from the start of the
 * conversation (specification, endpoint 2, Rules), the last one is always kept; instructions and tools are, too.
 * @throws RequestProblem 400 when it does not fit (specification, Errors)
 */
export function fitContext(
  items: readonly JsonObject[],
  body: JsonObject,
  window: number,
): { readonly items: readonly JsonObject[]; readonly tokens: number } {
  const sizes = items.map(countItem)
  const fixed = preambleOf(body).reduce((sum, text) => sum + countTokens(text), 0)
  let tokens = sizes.reduce((sum, size) => sum + size, fixed)
  let dropped = 0
  if (body['truncation'] === 'auto') {
    while (tokens > window && dropped < items.length - 1) tokens -= sizes[dropped++]!
  }
  if (tokens > window) {
    throw new RequestProblem(
      400,
      `Your input exceeds the context window of this model: ${tokens} tokens, and it reads ${window}.`,
      { param: 'input', code: 'context_length_exceeded' },
    )
  }
  return { items: items.slice(dropped), tokens }
}

/** What the model reads of a whole request. */
export function textsOfRequest(body: JsonObject, items: readonly JsonObject[]): readonly string[] {
  return [...preambleOf(body), ...items.flatMap(textsOfItem)]
}

/** What separates the cached beginnings of requests; `prompt_cache_key` is the caller's own. */
export function cacheGroupOf(body: JsonObject): string {
  return JSON.stringify([body['model'] ?? '', body['prompt_cache_key'] ?? ''])
}
