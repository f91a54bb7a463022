import type { Clock } from '../../context.ts'
import { limitExceeded } from '../http/request-problem.ts'
import { sampleOf } from '../schema/sample.ts'
import { type Random, seededRandom, pick } from '../seeded-random.ts'
import { assertAnswerSize, firstCharacters, tokensOf, withoutScenarios, type Scenario } from './answer.ts'

export interface ToolCall {
  readonly name: string
  /** JSON Schema (or the OpenAPI subset) of the arguments; undefined for a custom tool, which takes text. */
  readonly parameters: unknown
}

export interface TextRequest {
  /** With the model, the candidate, the caller's own seed. */
  readonly seed: readonly (string | number)[]
  readonly prompt: string
  readonly earlier: readonly string[]
  readonly scenario: Scenario
  readonly format: 'text' | 'json' | 'enum'
  readonly schema: unknown
  readonly calls: readonly ToolCall[]
  readonly toolOutputs: readonly string[]
  /** Sentences at the end of a text. */
  readonly findings: readonly string[]
  /** Whether the answer has no text because a call waits for the caller. */
  readonly waits: boolean
  readonly thinks: boolean
  /** Reasoning included. */
  readonly maxTokens: number | undefined
  readonly stopSequences: readonly string[]
}

export interface AnswerPart {
  readonly kind: 'text' | 'refusal' | 'call'
  readonly tokens: readonly string[]
  /** Of a call: the tool, and its arguments, whose JSON the tokens are (or plain text, for a custom tool). */
  readonly call?: ToolCall
  readonly value?: unknown
  readonly isCut?: true
}

const longAnswerWords = 6000
/** For calls, so that no request holds up the others. */
const maxAnswerMs = 5000
/** Tool outputs, and earlier prompts, that an answer quotes. */
const maxQuotes = 100
/** In tokens. */
const shortLimit = 24

/**
 * Composes an answer, before it is encoded in either style. The same request gets the same answer.
 * @returns the summary of the thoughts and the parts in tokens, and how it ends: as the scenario says, or `length`
 * @throws RequestProblem 400 when it is larger, or takes longer, than the sandbox allows
 */
export async function composeAnswer(request: TextRequest, clock: Clock) {
  const { scenario, maxTokens = Infinity, calls } = request
  const random = seededRandom(...request.seed, request.prompt)
  const limit = scenario.extent === 'part' ? Math.min(maxTokens, shortLimit) : maxTokens
  const plan =
    calls.length > 0 ? `call ${calls.map(({ name }) => name).join(', ')}` : 'answer in a few plain sentences'
  const thoughts = request.thinks
    ? tokensOf(`[sandbox] The request was read to its end. The plan is to ${plan}.`)
    : []
  let left = limit - thoughts.length
  const parts: AnswerPart[] = []
  for await (const part of visibleParts(request, random, clock)) {
    if (left > 0) {
      const isCut = part.tokens.length > left
      parts.push(isCut ? { ...part, tokens: part.tokens.slice(0, left), isCut } : part)
    }
    left -= part.tokens.length
  }
  return {
    thoughts: thoughts.slice(0, limit),
    parts,
    ending: scenario.ending === 'complete' && left < 0 ? 'length' : scenario.ending,
    visibleTokens: parts.reduce((sum, { tokens }) => sum + tokens.length, 0),
  }
}

/** Before the token limit: all calls, or a text. */
async function* visibleParts(request: TextRequest, random: Random, clock: Clock): AsyncGenerator<AnswerPart> {
  const { scenario, calls, waits, stopSequences } = request
  if (scenario.extent === 'nothing') return
  if (scenario.ending === 'refusal') {
    yield { kind: 'refusal', tokens: tokensOf('[sandbox] I’m sorry, but I cannot help with that.') }
    return
  }
  const startedAt = clock.monotonic()
  let characters = 0
  for (const call of calls) {
    const value =
      call.parameters === undefined
        ? '[sandbox] input of a custom tool'
        : await sampleOf(call.parameters, random, 'object')
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    characters += call.name.length + text.length
    assertAnswerSize(characters)
    if (clock.monotonic() - startedAt > maxAnswerMs)
      throw limitExceeded(`The answer to this request would take longer than ${maxAnswerMs / 1000} seconds.`)
    yield { kind: 'call', tokens: tokensOf(text), call, value }
  }
  if (calls.length > 0 || waits) return
  const text = await writeAnswer(request, random)
  const stops = stopSequences.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  yield { kind: 'text', tokens: tokensOf(text.slice(0, Math.min(text.length, ...stops))) }
}

async function writeAnswer(request: TextRequest, random: Random): Promise<string> {
  const { prompt, schema, format, toolOutputs, earlier, scenario, findings } = request
  if (format === 'enum') return String(await sampleOf(schema, random))
  if (format === 'json') {
    return JSON.stringify(
      schema === undefined
        ? { sandbox: true, prompt: firstCharacters(prompt, 60), answer: pick(random, sentences) }
        : await sampleOf(schema, random),
    )
  }
  const isMarkdown = /\bmarkdown\b/i.test(prompt) && !/\bsandbox:/.test(prompt)
  const text = isMarkdown
    ? writeMarkdown(prompt, random)
    : writeText(introduction(prompt, toolOutputs.length > 0), random, wordsWanted(prompt, scenario))
  const results = toolOutputs.slice(0, maxQuotes).map((output) => firstCharacters(output, 200))
  const ends = /\bsandbox:recall\b/.test(prompt)
    ? [recallOf(earlier)]
    : results.length > 0
      ? [`The tool answered: ${results.join(' and ')}.`]
      : []
  return [text, ...ends, ...findings].join(' ')
}

function recallOf(earlier: readonly string[]): string {
  const quotes = earlier.slice(0, maxQuotes).map((prompt) => `“${quoteOf(withoutScenarios(prompt))}”`)
  return quotes.length === 0 ? 'You said nothing before.' : `Before that you said ${quotes.join(', then ')}.`
}

const openings = [
  'Here is a stand-in answer, written on your own machine instead of by a model.',
  'No model has read it: the sandbox put this answer together by itself.',
  'These words come from the local sandbox, so they cost nothing and went nowhere.',
]

const sentences = [
  'A small lamp on the desk is enough to read by.',
  'Rain moved over the hills, and the valley grew quiet.',
  'The ferry leaves at seven, with room for bicycles on the lower deck.',
  'Someone left a bowl of apricots by the open window.',
  'Every path through the garden ends at the same stone bench.',
  'The map is old, yet the rivers still run where it says.',
  'Two crows discuss the morning from the roof of the station.',
  'Good tools wait in a row and ask for no attention.',
  'The kettle hums in the kitchen of the café next door.',
  'A letter arrived without a stamp and was delivered all the same.',
  'Snow on the platform squeaks under the boots of the first commuter.',
  'The choir practises on Thursdays, and the whole street knows the alto part.',
]

const closings = [
  'Point the same command at a real gateway for a real answer.',
  'A real gateway would have something of its own to say here.',
  'Ask again with the same seed, and the same words will come back.',
]

const minWordsForParagraphs = 100
const sentencesInParagraph = 6

/** @param words the least of them; a text of few is a single line */
function writeText(start: string, random: Random, words: number): string {
  const parts = [start, pick(random, openings)]
  let count = wordsIn(parts.join(' '))
  let left = [...sentences]
  while (count < words) {
    if (left.length === 0) left = [...sentences]
    const [sentence] = left.splice(Math.floor(random() * left.length), 1) as [string]
    parts.push(sentence)
    count += wordsIn(sentence)
  }
  const all = [...parts, pick(random, closings)]
  return all.reduce((text, sentence, index) => {
    const isNext = words >= minWordsForParagraphs && index % sentencesInParagraph === 0
    return `${text}${isNext ? '\n\n' : ' '}${sentence}`
  })
}

function introduction(prompt: string, isToolResult = false): string {
  const quote = quoteOf(prompt)
  if (quote === '') return `[sandbox] You sent ${isToolResult ? 'the result of a tool' : 'no words'}.`
  return `[sandbox] You asked: “${quote}”${/[.!?…]$/.test(quote) ? '' : '.'}`
}

function writeMarkdown(prompt: string, random: Random): string {
  return `${introduction(prompt)}

## A stand-in answer

${pick(random, openings)} It has **what Markdown has**:

1. a list with numbers,
2. *emphasis* and \`code\`,
   - and a list within a list.

| command | result |
| :------ | -----: |
| \`modelgate generate\` | words |
| \`modelgate image create\` | pictures |

\`\`\`sh
modelgate image create -o boat.png "A paper boat"
\`\`\`

> ${pick(random, sentences)}

${pick(random, closings)}`
}

/** `sandbox:short`, `sandbox:500-words`; by default a few sentences. */
function wordsWanted(prompt: string, { extent }: Scenario): number {
  if (extent === 'long') return longAnswerWords
  const requested = /\bsandbox:(\d{1,6})-words\b/.exec(prompt)?.[1]
  if (requested !== undefined) return Math.min(Number(requested), 100_000)
  return /\bsandbox:short\b/.test(prompt) ? 1 : 45
}

/** White space, control characters and invisible ones, but not those that join emoji and letters. */
const invisible = /(?:(?!\u200c|\u200d|[\u{e0020}-\u{e007f}])[\s\p{Cc}\p{Cf}])+/gu

/** The first words of a prompt on one line, without control characters. */
function quoteOf(prompt: string): string {
  const line = firstCharacters(prompt, 400).replace(invisible, ' ').trim()
  const first = firstCharacters(line, 60)
  return first === line ? line : `${firstCharacters(line, 59).trimEnd()}…`
}

const wordsIn = (text: string) => text.split(' ').length
