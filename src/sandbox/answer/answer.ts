import { limitExceeded } from '../http/request-problem.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'

/** A tool that the answer calls. */
export interface ToolCall {
  readonly name: string
  /** JSON Schema (or the OpenAPI subset) of the arguments; undefined for a custom tool, which takes text. */
  readonly parameters: unknown
  readonly custom?: true
}

/** A request of either style, in a common form. */
export interface TextRequest {
  /** What determines the answer: seed, model, candidate, the caller's own seed. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly scenario: Scenario | undefined
  /** Whether JSON, one value of an enum, or plain text is requested. */
  readonly format: 'text' | 'json' | 'enum'
  /** The schema of the JSON or of the enum, if one was given. */
  readonly schema?: unknown
  readonly calls: readonly ToolCall[]
  /** What the user said before, if the prompt asks for it (`sandbox:recall`). */
  readonly recalled?: readonly string[]
  /** Tool outputs in the request, to be acknowledged in the answer. */
  readonly toolOutputs: readonly string[]
  /** Sentences at the end of a text. */
  readonly findings?: readonly string[]
  /** Whether the answer has no text because a call waits for the caller. */
  readonly waits?: boolean
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
      /** JSON, or plain text for a custom tool; cut short by the token limit. */
      readonly tokens: readonly string[]
      readonly arguments: string
      readonly value: unknown
      readonly whole: boolean
    }
  | { readonly kind: 'image'; readonly base64: string }

/** How the answer ends: normally, at the token limit, or as the scenario defines. */
export type Ending = 'complete' | 'length' | 'refusal' | 'block' | 'failure' | 'error'

/** An answer of the sandbox, before it is encoded in either style. */
export interface Answer {
  /** Summary of the thoughts; empty unless requested. */
  readonly thoughts: readonly string[]
  readonly parts: readonly AnswerPart[]
  readonly ending: Ending
  readonly thoughtTokens: number
  /** Tokens of the visible parts. */
  readonly visibleTokens: number
}

/** Scenarios of the sandbox other than a plain answer. */
export const scenarios = [
  'refusal',
  'block',
  'length',
  'failure',
  'error',
  'empty',
  'long',
  // Images only: one image fewer than requested; the final image before its partial ones.
  'fewer',
  'early',
] as const
export type Scenario = (typeof scenarios)[number]

/** `sandbox:refusal`, `sandbox:web_search:failed`, `sandbox:RECITATION` */
const scenarioWord = /\bsandbox:([A-Za-z_]+)(?::([A-Za-z_]+))?\b/g

/** Maximum number of words of a prompt that ask for something. */
const maxScenarioWords = 1000

export interface ScenarioWord {
  readonly name: string
  /** What follows the name: `failed`. */
  readonly variant: string | undefined
}

/** The scenarios that the header `x-sandbox-scenario` names, or otherwise a prompt, in their order. */
export function scenarioWords(header: string | undefined, prompt: string): readonly ScenarioWord[] {
  const words: ScenarioWord[] = []
  const text = header === undefined ? prompt : `sandbox:${header}`
  for (const [, name, variant] of text.matchAll(scenarioWord)) {
    if (words.push({ name: name!, variant }) === maxScenarioWords) break
  }
  return words
}

/** The first of some scenarios that a request names. */
export function askedFor<Name extends string>(
  names: readonly Name[],
  header: string | undefined,
  prompt: string,
): Name | undefined {
  const requested = new Set(scenarioWords(header, prompt).map(({ name }) => name))
  return names.find((name) => requested.has(name))
}

/** Whether a prompt asks for what was said before. */
export function wantsRecall(prompt: string): boolean {
  return /\bsandbox:recall\b/.test(prompt)
}

/** A prompt without the words that are meant for the sandbox. */
export function withoutScenarios(prompt: string): string {
  return prompt.replace(scenarioWord, '').trim()
}

/** Maximum number of characters at the beginning of a prompt in which tools are looked for. */
const searchedCharacters = 200_000

/**
 * Which tools the answer calls: any if one is required, otherwise those that the prompt names.
 * @param hasOutput whether the request ends with a tool's output, which the answer then quotes
 */
export function chooseCalls<Tool extends { readonly name: string; readonly otherNames?: readonly string[] }>(
  mode: 'none' | 'auto' | 'required',
  declared: readonly Tool[],
  { prompt, hasOutput }: { prompt: string; hasOutput: boolean },
): readonly Tool[] {
  if (mode === 'none') return []
  const beginning = prompt.substring(0, searchedCharacters)
  const named = declared.filter(({ name: first, otherNames = [] }) =>
    [first, ...otherNames].some((name) => name !== '' && beginning.includes(name)),
  )
  if (mode === 'required') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}

/** Maximum number of tools in a request: the work grows with their number times the length of the prompt. */
const maxTools = 1000

/** @throws RequestProblem 400 for more tools than the sandbox looks at */
export function assertToolCount(count: number): void {
  if (count > maxTools) throw limitExceeded(`The sandbox takes at most ${maxTools} tools, not ${count}.`)
}

/** The texts of the parts of a message, a paragraph for each. */
export function textOfParts(parts: unknown): string {
  return objectsOf(parts)
    .map((part: JsonObject) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

/** Characters of a word in one token. */
const tokenLength = 10
/** Code points that may belong to the character before or behind them: marks, joiners, parts of flags and syllables. */
const joining = /[\p{M}\p{Cf}\p{Emoji_Modifier}\p{RI}\u1100-\u11ff]/u
/** Takes tens of milliseconds to create, and few texts need it. */
let segmenter: Intl.Segmenter | undefined

/** The characters of a text, as a reader counts them. */
function charactersOf(text: string): readonly string[] {
  if (!joining.test(text)) return [...text]
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return [...segmenter.segment(text)].map(({ segment }) => segment)
}

/**
 * Splits text into tokens, which the sandbox streams one by one; joined, they are the text again. What a reader sees as
 * one character, such as a joined emoji, is in one token.
 */
export function tokensOf(text: string): string[] {
  return (text.match(/\s*\S+|\s+/gu) ?? []).flatMap((word) => {
    if (word.length <= tokenLength) return [word]
    return joining.test(word) ? splitAtGraphemes(word) : (word.match(/\s*\S{1,10}|\s+/gu) ?? [])
  })
}

function splitAtGraphemes(word: string): string[] {
  const tokens: string[] = []
  for (const character of charactersOf(word)) {
    const last = tokens.at(-1)
    if (last === undefined || (last + character).trimStart().length > tokenLength) tokens.push(character)
    else tokens[tokens.length - 1] = last + character
  }
  return tokens
}

/** How much of a text is searched for the beginning of it, in UTF-16 units; emoji with joiners take ten and more. */
const unitsOfCharacter = 12

/** The first characters of a text, as a reader counts them. */
export function firstCharacters(text: string, count: number): string {
  const start = text.slice(0, count * unitsOfCharacter)
  const characters = charactersOf(start)
  // The last one may continue behind what was searched.
  const whole = start.length < text.length ? characters.slice(0, -1) : characters
  return whole.slice(0, count).join('')
}

/** Tokens of an image, a sound or a file, whatever its size. */
export const mediaTokens = 258

/** A cheap estimate for input of any size: one token for every four characters, as in public practice. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** Tokens of a value that the model reads as JSON. */
export function countJson(value: unknown): number {
  return value === undefined ? 0 : countTokens(JSON.stringify(value))
}
