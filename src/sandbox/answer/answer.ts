import type { Scenario } from './scenario.ts'

/** A tool the sandbox decided to call. */
export interface PlannedCall {
  readonly name: string
  /** JSON Schema (or the OpenAPI subset) of the arguments; undefined for a custom tool, which takes text. */
  readonly parameters: unknown
  readonly custom?: true
}

/** What a request of either style asks for, in one vocabulary. */
export interface Question {
  /** What makes the answer repeatable: seed, model, candidate, the caller's own seed. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly scenario: Scenario | undefined
  /** Ask for JSON, for one word of an enum, or for plain text. */
  readonly format: 'text' | 'json' | 'enum'
  /** The schema of the JSON or of the enum, if one was given. */
  readonly schema?: unknown
  readonly calls: readonly PlannedCall[]
  /** Tool outputs that came with the request, to be acknowledged in the answer. */
  readonly toolOutputs: readonly string[]
  readonly thinks: boolean
  readonly wantsImage: boolean
  /** Upper bound of tokens, reasoning included. */
  readonly maxTokens: number | undefined
  readonly stopSequences: readonly string[]
}

export type AnswerPart =
  | { readonly kind: 'text' | 'refusal'; readonly text: string; readonly tokens: readonly string[] }
  | {
      readonly kind: 'call'
      readonly call: PlannedCall
      /** JSON, or plain text for a custom tool; cut short when the token limit struck. */
      readonly tokens: readonly string[]
      readonly arguments: string
      readonly value: unknown
      readonly whole: boolean
    }
  | { readonly kind: 'image'; readonly base64: string }

/** How the answer ends: by itself, at the token limit, or as the scenario wants it. */
export type Ending = 'complete' | 'length' | 'refusal' | 'block' | 'failure' | 'error'

/** What the sandbox will say, before it is put into the wire form of either style. */
export interface Answer {
  /** Summary of the thoughts; empty when the question asks for none. */
  readonly thoughts: readonly string[]
  readonly parts: readonly AnswerPart[]
  readonly ending: Ending
  readonly thoughtTokens: number
  /** Tokens of the visible parts. */
  readonly visibleTokens: number
}
