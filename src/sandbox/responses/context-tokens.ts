import { createHash } from 'node:crypto'
import { countTokens, mediaTokens } from '../answer/answer.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'

/** What the model reads of an item: its texts, or the whole item as JSON. */
function textsOfItem(item: JsonObject): readonly string[] {
  const { content } = item
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return [JSON.stringify(item, mediaReplaced)]
  return objectsOf(content).map(({ type, text, refusal, ...rest }) => {
    if (typeof text === 'string') return text
    if (typeof refusal === 'string') return refusal
    return textOf(type).startsWith('input_') ? stand(Object.values(rest)) : ''
  })
}

/** Fields that hold a picture or a file in items other than messages. */
const mediaFields = new Set(['image_url', 'file_data', 'result'])

function mediaReplaced(name: string, value: unknown): unknown {
  return mediaFields.has(name) && typeof value === 'string' ? stand([value]) : value
}

/** Characters at either end of a file that tell it from others. */
const sampled = 2048

/** A text as long as the tokens of a picture or a file, the same for the same file. */
function stand(values: readonly unknown[]): string {
  const hash = createHash('sha256')
  for (const value of values) {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
    hash.update(`${text.length} ${text.slice(0, sampled)} ${text.slice(-sampled)}`)
  }
  return hash.digest('hex').padEnd(mediaTokens * 4)
}

function countItem(item: JsonObject): number {
  return textsOfItem(item).reduce((sum, text) => sum + countTokens(text), 0)
}

/** What the model reads before the items. */
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

/** Public practice: cached input is counted in steps of this many tokens. */
const cacheStep = 128
/** Beginnings that are remembered, a few megabytes of them. */
const keptBeginnings = 20_000

/** The beginnings of all requests so far, so that repeated ones count as cached. */
export interface PromptCache {
  /** How many tokens of a request an earlier one began with, in steps of 128. */
  countCached(body: JsonObject, items: readonly JsonObject[]): number
  remember(body: JsonObject, items: readonly JsonObject[]): void
}

export function createPromptCache(): PromptCache {
  const known = createBoundedMap<true>(keptBeginnings)
  return {
    countCached(body, items) {
      let tokens = 0
      for (const beginning of beginningsOf(body, items)) {
        if (known.get(beginning) === undefined) break
        tokens += cacheStep
      }
      return tokens
    },
    remember(body, items) {
      for (const beginning of beginningsOf(body, items)) known.set(beginning, true)
    },
  }
}

/** A digest for every 128 tokens, of all that was read up to there. `prompt_cache_key` separates requests. */
function* beginningsOf(body: JsonObject, items: readonly JsonObject[]): Generator<string> {
  const length = cacheStep * 4
  let digest = JSON.stringify([body['model'] ?? '', body['prompt_cache_key'] ?? ''])
  let text = ''
  for (const next of [...preambleOf(body), ...items.flatMap(textsOfItem)]) {
    text += next
    let at = 0
    for (; at + length <= text.length; at += length) {
      digest = createHash('sha256')
        .update(digest + text.slice(at, at + length))
        .digest('base64')
      yield digest
    }
    text = text.slice(at)
  }
}
