import type { Budget } from '../budget.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'

/** A tool that the answer calls. */
export interface ToolCall {
  readonly name: string
  /** JSON Schema (or the OpenAPI subset) of the arguments; undefined for a custom tool, which takes text. */
  readonly parameters: unknown
  readonly custom?: true
}

/** What a request of either style asks for, in one vocabulary. */
export interface TextRequest {
  /** What makes the answer repeatable: seed, model, candidate, the caller's own seed. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly scenario: Scenario | undefined
  /** Ask for JSON, for one word of an enum, or for plain text. */
  readonly format: 'text' | 'json' | 'enum'
  /** The schema of the JSON or of the enum, if one was given. */
  readonly schema?: unknown
  readonly calls: readonly ToolCall[]
  /** Tool outputs that came with the request, to be acknowledged in the answer. */
  readonly toolOutputs: readonly string[]
  readonly thinks: boolean
  /** Upper bound of tokens, reasoning included. */
  readonly maxTokens: number | undefined
  readonly stopSequences: readonly string[]
}

export type AnswerPart =
  | { readonly kind: 'text' | 'refusal'; readonly text: string; readonly tokens: readonly string[] }
  | {
      readonly kind: 'call'
      readonly call: ToolCall
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
  /** Summary of the thoughts; empty when the request asks for none. */
  readonly thoughts: readonly string[]
  readonly parts: readonly AnswerPart[]
  readonly ending: Ending
  readonly thoughtTokens: number
  /** Tokens of the visible parts. */
  readonly visibleTokens: number
}

/** What can be asked of the sandbox besides a plain answer. */
export const scenarios = [
  'refusal',
  'block',
  'length',
  'failure',
  'error',
  'empty',
  'long',
  // Images only: one image fewer than asked for; the final image before its partial ones.
  'fewer',
  'early',
] as const
export type Scenario = (typeof scenarios)[number]

/** The scenario of a list that the header `x-sandbox-scenario` or a word of the prompt, as `sandbox:refusal`, asks for. */
export function askedFor<Name extends string>(
  names: readonly Name[],
  header: string | undefined,
  prompt: string,
): Name | undefined {
  const requested = header ?? /\bsandbox:([a-z]+)\b/.exec(prompt)?.[1]
  return names.find((name) => name === requested)
}

/** So many characters of a prompt are searched at the cost of one. */
const charactersPerUnit = 20

/**
 * Which tools the answer calls: any when one is required, else those that the prompt names.
 * @param hasOutput the request ends with a tool's output, so the answer speaks about that
 * @throws RequestProblem when the budget is spent: prompt and names may be long, and the tools many
 */
export function chooseCalls(
  mode: 'none' | 'auto' | 'required',
  declared: readonly ToolCall[],
  { prompt, hasOutput, budget }: { prompt: string; hasOutput: boolean; budget: Budget },
): readonly ToolCall[] {
  if (mode === 'none') return []
  const named = declared.filter(({ name }) => {
    budget.spend(1 + prompt.length / charactersPerUnit)
    return name !== '' && prompt.includes(name)
  })
  if (mode === 'required') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}

/** The texts of the parts of a message, a paragraph for each. */
export function textOfParts(parts: unknown): string {
  return objectsOf(parts)
    .map((part: JsonObject) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

/** Cuts text into the pieces the sandbox calls tokens and streams one by one; joined, they are the text again. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,10}|\s+/gu) ?? []
}

/** What an image, a sound or a file counts, whatever its size. */
export const mediaTokens = 258

/** A cheap count for input of any size: a token for every four characters, as public practice estimates. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** Tokens of a value that the model reads as JSON. */
export function countJson(value: unknown): number {
  return value === undefined ? 0 : countTokens(JSON.stringify(value))
}
