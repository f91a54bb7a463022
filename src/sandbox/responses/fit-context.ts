import { RequestProblem } from '../http/problem.ts'
import type { JsonObject } from '../json-value.ts'
import { countItem } from './items.ts'

/**
 * Makes the input fit the context window: with `truncation: auto` items are dropped from the start of the
 * conversation (specification, endpoint 2, Rules), the last one is always kept.
 * @param fixed tokens of instructions and tools, which are never dropped
 * @throws RequestProblem 400 when it does not fit (specification, Errors)
 */
export function fitContext(
  items: readonly JsonObject[],
  fixed: number,
  window: number,
  truncation: unknown,
): { readonly items: readonly JsonObject[]; readonly tokens: number } {
  const sizes = items.map(countItem)
  let tokens = sizes.reduce((sum, size) => sum + size, fixed)
  let dropped = 0
  if (truncation === 'auto') {
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
