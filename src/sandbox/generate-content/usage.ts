import type { JsonObject } from '../json-value.ts'

/** Token counts that add up: prompt, visible and thought tokens are the total (wire facts, section 1). */
export function usageOf(prompt: number, visible: number, thoughts: number): JsonObject {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: visible,
    totalTokenCount: prompt + visible + thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  }
}
