import type { JsonObject } from '../json-value.ts'

/** A complete output item, and the pieces in which it is streamed; plain data, since it may be kept on disk. */
export interface OutputItem {
  readonly item: JsonObject
  readonly tokens: readonly string[]
  /** One entry per token, if log probabilities were requested. */
  readonly logprobs: readonly JsonObject[]
  /** Previews of an image, in base64. */
  readonly partials?: readonly string[]
}

/** What the text says of a call: a sentence, and the source that a part of it cites. */
export interface Finding {
  readonly sentence: string
  readonly cited?: string
  /** The annotation without its place in the text. */
  readonly source?: JsonObject
}

/** An item that is complete, with the pieces of it that are streamed. */
export function output(
  item: JsonObject,
  tokens: readonly string[],
  more: Partial<OutputItem> = {},
): OutputItem {
  return { item, tokens, logprobs: [], ...more }
}

/** Content that only the gateway can read. */
export function opaque(text: string): string {
  return Buffer.from(`sandbox ${text}`).toString('base64')
}
