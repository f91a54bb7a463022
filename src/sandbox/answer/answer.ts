import { limitExceeded, moderationBlocked } from '../http/request-problem.ts'
import { objectsOf, textOf } from '../json-value.ts'

/** What a request asks of the sandbox: by the header `x-sandbox-scenario`, by words of its prompt, or by its model. */
export interface Scenario {
  /** `complete`, a scenario such as `refusal`, or a finish reason such as `RECITATION`. */
  readonly ending: string
  /** How much of an answer comes before it ends. */
  readonly extent: 'whole' | 'part' | 'nothing' | 'long'
  /** A name, and what follows it: `failed`. */
  readonly words: readonly { readonly name: string; readonly variant: string | undefined }[]
}

export type Endings = Readonly<Record<string, Pick<Scenario, 'ending' | 'extent'>>>

const textEndings: Endings = {
  refusal: { ending: 'refusal', extent: 'whole' },
  block: { ending: 'block', extent: 'whole' },
  length: { ending: 'complete', extent: 'part' },
  failure: { ending: 'failure', extent: 'nothing' },
  error: { ending: 'error', extent: 'whole' },
  empty: { ending: 'complete', extent: 'nothing' },
  long: { ending: 'complete', extent: 'long' },
}

/** Besides those of texts one image fewer than requested, and the final one before its partial ones. */
export const imageScenarios: readonly string[] = [...Object.keys(textEndings), 'fewer', 'early']

/**
 * @param header `x-sandbox-scenario`, which takes precedence over the prompt
 * @param more endings of the endpoint's own, which take precedence
 */
export function readScenario(
  header: string | undefined,
  prompt: string,
  model: string,
  more: Endings = {},
): Scenario {
  const words = scenarioWords(header, prompt)
  const known: Endings = { ...more, ...textEndings }
  const named = Object.keys(known).find((name) => words.some((word) => word.name === name))
  const ofModel = /^sandbox-(\w+)$/.exec(model)?.[1] ?? ''
  const ending =
    known[named ?? ''] ?? (Object.hasOwn(textEndings, ofModel) ? textEndings[ofModel] : undefined)
  return { ending: 'complete', extent: 'whole', ...ending, words }
}

/** `sandbox:refusal`, `sandbox:web_search:failed`, `sandbox:RECITATION` */
const scenarioWord = /\bsandbox:([A-Za-z_]+)(?::([A-Za-z_]+))?\b/g

const maxScenarioWords = 1000

function scenarioWords(header: string | undefined, prompt: string): Scenario['words'] {
  const text = header === undefined ? prompt : `sandbox:${header}`
  const found = text.matchAll(scenarioWord).take(maxScenarioWords)
  return found.map(([, name, variant]) => ({ name: name!, variant })).toArray()
}

/**
 * The scenario of a request for images or videos.
 * @param type of the error for `refusal` and `block`, which are thrown
 */
export function mediaScenario<Name extends string>(
  names: readonly Name[],
  type: string,
  header: string | undefined,
  prompt: string,
  model: string,
): Name | undefined {
  const requested = new Set(scenarioWords(header, prompt).map(({ name }) => name))
  const scenario =
    names.find((name) => requested.has(name)) ?? names.find((name) => model === `sandbox-${name}`)
  if (scenario === 'refusal' || scenario === 'block') throw moderationBlocked(type)
  return scenario
}

export function withoutScenarios(prompt: string): string {
  return prompt.replace(scenarioWord, '').trim()
}

/** What is searched for. */
export function queryOf(prompt: string): string {
  return firstCharacters(withoutScenarios(prompt), 60).replace(/\s+/g, ' ').trim()
}

/** Whether all words of a name are among those of a prompt. */
export function namedIn(prompt: string): (name: string) => boolean {
  const words = new Set(prompt.match(/[\w-]+/g))
  return (name) => name.match(/[\w-]+/g)?.every((word) => words.has(word)) ?? false
}

/** @param hasOutput whether the request ends with a tool's output, which the answer then quotes */
export function chooseCalls<Tool>(
  mode: 'none' | 'auto' | 'required',
  declared: readonly Tool[],
  namesOf: (tool: Tool) => readonly string[],
  { prompt, hasOutput }: { prompt: string; hasOutput: boolean },
): readonly Tool[] {
  if (mode === 'none') return []
  const isNamed = namedIn(prompt)
  const named = declared.filter((tool) => namesOf(tool).some(isNamed))
  if (mode === 'required') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}

const maxTools = 1000

export function assertToolCount(count: number): void {
  if (count > maxTools) throw limitExceeded(`The sandbox takes at most ${maxTools} tools, not ${count}.`)
}

export function textOfParts(parts: unknown): string {
  return objectsOf(parts)
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

/** The pieces of a text that are streamed one by one. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,10}|\s+/gu) ?? []
}

export function firstCharacters(text: string, count: number): string {
  return Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join('')
}

/** Of an image, a sound or a file, whatever its size. */
export const mediaTokens = 258

/** A cheap estimate for input of any size, as in public practice. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

const maxAnswerCharacters = 2_000_000

/** To be called whenever an answer grows. */
export function assertAnswerSize(characters: number): void {
  if (characters <= maxAnswerCharacters) return
  throw limitExceeded(
    `The answer to this request would be larger than the sandbox generates: ${maxAnswerCharacters} characters.`,
  )
}
