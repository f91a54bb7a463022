import { createHash } from 'node:crypto'
import { createBoundedMap } from '../bounded-map.ts'

/** Public practice: cached input is counted in steps of this many tokens. */
const cacheStep = 128
/** Beginnings that are remembered, a few megabytes of them. */
const keptBeginnings = 20_000

export type PromptCache = ReturnType<typeof createPromptCache>

/** The beginnings of all prompts so far, so that repeated ones count as cached. */
export function createPromptCache() {
  const known = createBoundedMap<true>(keptBeginnings)
  return {
    /**
     * How many tokens of a prompt an earlier one began with, in steps of 128.
     * @param group separates prompts that share nothing, such as those of two models
     * @param texts what the model reads, in its order
     */
    countCached(group: string, texts: readonly string[]): number {
      let tokens = 0
      for (const beginning of beginningsOf(group, texts)) {
        if (known.get(beginning) === undefined) break
        tokens += cacheStep
      }
      return tokens
    },
    remember(group: string, texts: readonly string[]) {
      for (const beginning of beginningsOf(group, texts)) known.set(beginning, true)
    },
  }
}

/** A digest for every 128 tokens, of all that was read up to there. */
function* beginningsOf(group: string, texts: readonly string[]): Generator<string> {
  const length = cacheStep * 4
  let digest = group
  let text = ''
  for (const next of texts) {
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

/** Tokens of an image, a sound or a file, whatever its size. */
const mediaTokens = 258
/** Characters at either end of a file that tell it from others. */
const sampled = 2048

/** A text as long as the tokens of a picture or a file, the same for the same file. */
export function mediaText(values: readonly unknown[]): string {
  const hash = createHash('sha256')
  for (const value of values) {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
    hash.update(`${text.length} ${text.slice(0, sampled)} ${text.slice(-sampled)}`)
  }
  return hash.digest('hex').padEnd(mediaTokens * 4)
}
