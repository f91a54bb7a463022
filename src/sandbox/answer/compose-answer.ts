import { sampleOf } from '../schema/sample.ts'
import { assertAnswerLimits, type Exchange } from '../sandbox.ts'
import { type Random, seededRandom, pick } from '../seeded-random.ts'
import {
  type Answer,
  type AnswerPart,
  type Ending,
  type ToolCall,
  type TextRequest,
  firstCharacters,
  withoutScenarios,
  tokensOf,
} from './answer.ts'

const imageTokens = 64
const longAnswerWords = 6000
/** Maximum number of tool outputs that an answer quotes. */
const maxOutputs = 100
/** The token limit of the scenario `length`, if the request sets none. */
const shortLimit = 24

/**
 * Composes an answer. The same request gets the same answer.
 * @param image goes with a text, in base64
 * @throws RequestProblem when it is larger than the sandbox generates
 */
export function composeAnswer(request: TextRequest, exchange: Exchange, image?: string): Answer {
  const { scenario, maxTokens = Infinity, thinks, calls } = request
  const random = seededRandom(...request.seed, request.prompt)
  const limit = scenario === 'length' ? Math.min(maxTokens, shortLimit) : maxTokens
  const thoughts = thinks ? tokensOf(describeThoughts(calls)) : []
  const visible = scenario === 'failure' ? [] : visibleParts(request, random, exchange, image)
  const shown = thoughts.slice(0, limit)
  const { parts, tokens, isCut } = cutParts(visible, limit - shown.length)
  return {
    thoughts: shown,
    parts,
    ending: endingOf(scenario, isCut || shown.length < thoughts.length),
    thoughtTokens: shown.length,
    visibleTokens: tokens,
  }
}

function endingOf(scenario: TextRequest['scenario'], isCut: boolean): Ending {
  switch (scenario) {
    case 'refusal':
    case 'block':
    case 'failure':
    case 'error':
      return scenario
    default:
      return isCut ? 'length' : 'complete'
  }
}

function describeThoughts(calls: TextRequest['calls']): string {
  const names = calls.map(({ name }) => name).join(', ')
  const plan = calls.length > 0 ? `call ${names}` : 'answer in a few plain sentences'
  return `[sandbox] The request was read to its end. The plan is to ${plan}.`
}

function visibleParts(
  request: TextRequest,
  random: Random,
  exchange: Exchange,
  image?: string,
): AnswerPart[] {
  const { scenario, calls } = request
  if (scenario === 'empty') return []
  if (scenario === 'refusal')
    return [textPart('refusal', '[sandbox] I’m sorry, but I cannot help with that.')]
  if (calls.length > 0) return callParts(calls, random, exchange)
  if (request.waits) return []
  const words = wordsOf(request, random)
  const text = textPart('text', cutAtStop(words, request.stopSequences))
  return image === undefined ? [text] : [text, { kind: 'image', base64: image }]
}

function wordsOf(request: TextRequest, random: Random): string {
  const { prompt, schema, format, toolOutputs, recalled, scenario, findings = [] } = request
  if (format === 'enum') return String(sampleOf(schema, random))
  if (format === 'json') {
    return JSON.stringify(
      schema === undefined
        ? { sandbox: true, prompt: firstCharacters(prompt, 60), answer: pick(random, sentences) }
        : sampleOf(schema, random),
    )
  }
  const words = scenario === 'long' ? longAnswerWords : requestedWords(prompt)
  const text = wantsMarkdown(prompt)
    ? writeMarkdown(prompt, random)
    : writeText(prompt, random, { words, isToolResult: toolOutputs.length > 0 })
  if (recalled !== undefined) return [text, recallOf(recalled), ...findings].join(' ')
  if (toolOutputs.length === 0) return [text, ...findings].join(' ')
  const shown = toolOutputs.slice(0, maxOutputs).map((output) => firstCharacters(output, 200))
  return [text, `The tool answered: ${shown.join(' and ')}.`, ...findings].join(' ')
}

/** What the user said before, each as a quotation. */
function recallOf(recalled: readonly string[]): string {
  const quotes = recalled.slice(0, maxOutputs).map((prompt) => `“${quoteOf(withoutScenarios(prompt))}”`)
  return quotes.length === 0 ? 'You said nothing before.' : `Before that you said ${quotes.join(', then ')}.`
}

function cutAtStop(text: string, stopSequences: readonly string[]): string {
  const positions = stopSequences.map((stop) => text.indexOf(stop)).filter((position) => position !== -1)
  return positions.length === 0 ? text : text.slice(0, Math.min(...positions))
}

function textPart(kind: 'text' | 'refusal', text: string): AnswerPart {
  return { kind, text, tokens: tokensOf(text) }
}

function callParts(calls: readonly ToolCall[], random: Random, exchange: Exchange): AnswerPart[] {
  let characters = 0
  return calls.map((call) => {
    const part = callPart(call, random)
    characters += call.name.length + part.arguments.length
    assertAnswerLimits(exchange, characters)
    return part
  })
}

function callPart(call: ToolCall, random: Random): Extract<AnswerPart, { kind: 'call' }> {
  const value = call.custom
    ? '[sandbox] input of a custom tool'
    : sampleOf(call.parameters ?? {}, random, 'object')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { kind: 'call', call, arguments: text, tokens: tokensOf(text), value, whole: true }
}

function cutParts(parts: readonly AnswerPart[], limit: number) {
  const kept: AnswerPart[] = []
  let tokens = 0
  for (const part of parts) {
    const left = limit - tokens
    const length = part.kind === 'image' ? imageTokens : part.tokens.length
    if (length <= left) {
      kept.push(part)
      tokens += length
      continue
    }
    if (part.kind === 'image' || left <= 0) return { parts: kept, tokens, isCut: true }
    kept.push(shortened(part, part.tokens.slice(0, left)))
    return { parts: kept, tokens: tokens + left, isCut: true }
  }
  return { parts: kept, tokens, isCut: false }
}

function shortened(part: Exclude<AnswerPart, { kind: 'image' }>, tokens: readonly string[]): AnswerPart {
  const text = tokens.join('')
  return part.kind === 'call' ? { ...part, tokens, arguments: text, whole: false } : { ...part, tokens, text }
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

/** A shorter text is a single line. */
const minWordsForParagraphs = 100
const sentencesInParagraph = 6

/**
 * A text that is clearly the sandbox's: marked `[sandbox]`, quoting the start of the prompt.
 * @param words minimum number of words
 */
function writeText(
  prompt: string,
  random: Random,
  { words, isToolResult }: { readonly words: number; readonly isToolResult: boolean },
): string {
  const parts = [introduction(prompt, isToolResult), pick(random, openings)]
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

/** Whether a prompt asks for Markdown in words, and for no number of words. */
function wantsMarkdown(prompt: string): boolean {
  return /\bmarkdown\b/i.test(prompt) && !/\bsandbox:/.test(prompt)
}

/** A short text with what Markdown has: a heading, emphasis, lists, a table, code, a quotation and a link. */
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

/** How many words a prompt requests: `sandbox:short`, `sandbox:500-words`; by default a few sentences. */
function requestedWords(prompt: string): number {
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

function wordsIn(text: string): number {
  return text.split(' ').length
}
