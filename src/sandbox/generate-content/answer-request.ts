import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import {
  assertAnswerSize,
  chooseCalls,
  countTokens,
  mediaTokens,
  readScenario,
  textOfParts,
  type Endings,
  type Scenario,
} from '../answer/answer.ts'
import { type AnswerPart, type TextRequest, type ToolCall, composeAnswer } from '../answer/compose-answer.ts'
import {
  brokenOff,
  type Frame,
  type Frames,
  type Pause,
  type Reply,
  googleReply,
  streamReply,
} from '../http/reply.ts'
import { RequestProblem, assertValid, brokeOff, errorBody } from '../http/request-problem.ts'
import { shapeOf } from '../images/image-request.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { type JsonObject, isObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import { contextWindowOf } from '../sandbox-models.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { assertContents, withCanonicalNames } from './check-contents.ts'
import { citationsOf, useTools } from './tools.ts'

const chunksBeforeError = 5

/** Endpoint 1: `:streamGenerateContent` answers with events, `:generateContent` with one document. */
export async function answerContent(exchange: Exchange, isStream: boolean): Promise<Reply> {
  const { sandbox, params } = exchange
  const body = objectOf(withCanonicalNames(exchange.body))
  exchange.body = body
  assertValid(generateContentEndpoint, body)
  assertContents(body)
  const model = params['model']!
  const window = contextWindowOf(model)
  const promptTokens = countPrompt(body)
  if (promptTokens > window) {
    const message = `The input token count (${promptTokens}) exceeds the maximum number of tokens allowed (${window}).`
    throw new RequestProblem(400, message)
  }
  const request = readRequest(exchange, model)
  const { ending, words } = request.scenario
  const tools = useTools(body, request.prompt, words)
  const responseId = seededHex(22, sandbox.seed, 'generate-content', exchange.number)
  const usageWith = createUsage({ modelVersion: model, responseId }, promptTokens, tools.tokens)
  if (ending === 'block') {
    const { variant } = words.find(({ name }) => name === 'block') ?? {}
    const reason = blockReasons.find((known) => known === variant) ?? blockReasons[0]!
    const blocked = { ...blocking(reason), ...usageWith([]) }
    return isStream ? streamOf([chunkFrame(blocked, 'first', 'terminal')]) : documentOf(blocked)
  }
  const candidates = await candidatesOf(exchange, request, tools)
  if (isStream) {
    const frames = chunkFrames(candidates, usageWith)
    return streamOf(ending === 'error' ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames)
  }
  if (ending === 'error') throw brokeOff
  return documentOf(replyDocument(candidates, usageWith))
}

function documentOf(body: JsonObject): Reply {
  return googleReply(body, { creates: true, pause: 'first' })
}

function streamOf(frames: Frames): Reply {
  return streamReply(frames, { headers: { 'content-type': 'text/event-stream' }, breakOff })
}

/** The error as the service writes it into a running stream: plain JSON, not an event (wire notes, section 1). */
function breakOff(): readonly Frame[] {
  const error = JSON.stringify(errorBody('google', brokeOff), null, 2)
  return [{ text: `${error}\n`, pause: 'token', role: 'terminal' }]
}

function countPrompt({ tools, systemInstruction, contents }: JsonObject): number {
  const parts = [systemInstruction, ...objectsOf(contents)].flatMap((content) =>
    objectsOf(objectOf(content)['parts']),
  )
  const counts = parts.map((part) => {
    if (isObject(part['inlineData'] ?? part['fileData'])) return mediaTokens
    return countTokens(typeof part['text'] === 'string' ? part['text'] : JSON.stringify(part))
  })
  const ofTools = tools === undefined ? 0 : countTokens(JSON.stringify(tools))
  return counts.reduce((sum, count) => sum + count, ofTools)
}

const callModes: Readonly<Record<string, 'none' | 'required'>> = { NONE: 'none', ANY: 'required' }

/** Parses a request (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readRequest({ body, sandbox, scenario, seed }: Exchange, model: string): TextRequest {
  const config = objectOf(body['generationConfig'])
  const contents = objectsOf(body['contents'])
  const earlier = contents.slice(0, -1).filter(({ role }) => role !== 'model')
  const { parts } = objectOf(contents.at(-1))
  const prompt = textOfParts(parts)
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const toolOutputs = objectsOf(parts).flatMap(({ functionResponse: output }) =>
    output === undefined ? [] : [JSON.stringify(objectOf(output)['response'] ?? null)],
  )
  const calling = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const mode = callModes[textOf(calling['mode']).toUpperCase()] ?? 'auto'
  const allowed = textsOf(calling['allowedFunctionNames'])
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .map(({ name, parameters, parametersJsonSchema }): ToolCall => ({
      name: textOf(name),
      parameters: parameters ?? parametersJsonSchema ?? { type: 'object' },
    }))
    .filter(({ name }) => name !== '' && (allowed.length === 0 || allowed.includes(name)))
  const ownSeed = numberOf(config['seed'])
  const { thinkingBudget, thinkingLevel, includeThoughts } = objectOf(config['thinkingConfig'])
  return {
    seed: ownSeed === undefined ? [...seed, model] : [sandbox.seed, model, ownSeed],
    prompt,
    earlier: earlier.map((content) => textOfParts(content['parts'])),
    // A finish reason is a scenario, too: `sandbox:RECITATION`.
    scenario: readScenario(scenario, prompt, model, endings),
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: chooseCalls(mode, declared, ({ name }) => [name], { prompt, hasOutput: toolOutputs.length > 0 }),
    toolOutputs,
    findings: [],
    waits: false,
    thinks:
      thinkingBudget !== 0 &&
      (includeThoughts === true || thinkingBudget !== undefined || thinkingLevel !== undefined),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
}

/** Tokens of an image in an answer, and the pixels of its shorter edge. */
const [imageTokens, imageEdge] = [64, 64]

async function candidatesOf(
  { body, params, sandbox }: Exchange,
  text: TextRequest,
  tools: ReturnType<typeof useTools>,
): Promise<Candidate[]> {
  const { scenario, maxTokens = Infinity } = text
  const config = objectOf(body['generationConfig'])
  const ratings = ratingsOf(body, scenario.ending === 'refusal')
  const toolPieces = tools.parts.map((part) => ({ part, tokens: countTokens(JSON.stringify(part)) }))
  const toolTokens = toolPieces.reduce((sum, { tokens }) => sum + tokens, 0)
  // The token limit allows all of them or none.
  const used = scenario.extent === 'nothing' || toolTokens >= maxTokens ? [] : toolPieces
  const left = used.length === 0 ? maxTokens : maxTokens - toolTokens
  const kinds = new Set(textsOf(config['responseModalities']).map((kind) => kind.toUpperCase()))
  const showsThoughts = objectOf(config['thinkingConfig'])['includeThoughts'] === true
  const isCited = scenario.words.some(({ name }) => name === 'citations')
  const candidates: Candidate[] = []
  let characters = 0
  for (let index = 0; index < (numberOf(config['candidateCount']) ?? 1); index++) {
    const request = { ...text, seed: [...text.seed, index], maxTokens: left }
    const { ending, thoughts, parts, visibleTokens } = await composeAnswer(request, sandbox.clock)
    const wantsImage = kinds.has('IMAGE') && parts[0]?.kind === 'text'
    const hasImage = wantsImage && left - thoughts.length - visibleTokens >= imageTokens
    const shownParts = hasImage && !kinds.has('TEXT') ? [] : parts
    // From the third generation on calls are signed, whether thoughts are shown or not.
    const isSigned =
      (showsThoughts && thoughts.length > 0) || /^gemini-(?:[3-9]|\d{2})/.test(params['model']!)
    const pieces: Piece[] = [
      ...(showsThoughts ? thoughts : []).map((text) => ({
        part: { text, thought: true },
        tokens: 0,
        thoughts: 1,
      })),
      ...used,
      ...piecesOf(shownParts, isSigned),
    ]
    if (hasImage) {
      const inlineData = { mimeType: 'image/png', data: await drawImage(request, config) }
      pieces.push({ part: { inlineData }, tokens: imageTokens })
    }
    const written = shownParts.flatMap(({ kind, tokens }) => (kind === 'call' ? [] : tokens)).join('')
    characters += JSON.stringify([pieces.length, used, ratings, parts.map(({ value }) => value)]).length
    characters += written.length
    assertAnswerSize(characters)
    const [first = { tokens: 0 }, ...others] = pieces
    // Thoughts that are not shown are counted from the start.
    candidates.push({
      pieces: [showsThoughts ? first : { ...first, thoughts: thoughts.length }, ...others],
      ending: {
        ...finishOf(wantsImage && !hasImage ? 'length' : ending),
        ...(ratings.length > 0 && { safetyRatings: ratings }),
        ...(isCited && citationsOf(written)),
        ...(text.format === 'text' && written !== '' && tools.metadata(written, used.length)),
      },
    })
  }
  return candidates
}

async function drawImage({ seed, prompt }: TextRequest, config: JsonObject): Promise<string> {
  const ratio = shapeOf(objectOf(config['imageConfig'])['aspectRatio']) ?? 1
  const shape = Math.min(4, Math.max(1 / 4, ratio))
  const width = Math.round(imageEdge * Math.max(1, shape))
  const height = Math.round(imageEdge * Math.max(1, 1 / shape))
  const picture = plainPicture({ seed, text: prompt, caption: `${width}x${height}`, width, height })
  return Buffer.from(await encodePng(picture)).toString('base64')
}

/** The finish reasons by how much of an answer comes before each. */
const finishReasons = {
  whole: 'STOP FINISH_REASON_UNSPECIFIED CONTINUATION',
  part: 'MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER MALFORMED_RESPONSE',
  nothing:
    'BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS ' +
    'MISSING_THOUGHT_SIGNATURE NO_IMAGE IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER',
}

const endings: Endings = Object.fromEntries(
  Object.entries(finishReasons).flatMap(([extent, reasons]) =>
    reasons.split(' ').map((ending) => [ending, { ending, extent: extent as Scenario['extent'] }]),
  ),
)

/** The finish reasons of endings that are none themselves. */
const reasonsOf = new Map([
  ['complete', 'STOP'],
  ['length', 'MAX_TOKENS'],
  ['error', 'OTHER'],
  ['refusal', 'SAFETY'],
])

function finishOf(ending: string): JsonObject {
  if (ending === 'failure')
    return { finishReason: 'OTHER', finishMessage: '[sandbox] Nothing could be generated.' }
  const finishReason = reasonsOf.get(ending) ?? ending
  const finishMessage = `[sandbox] The answer ended with ${ending}.`
  return { finishReason, ...(ending === finishReason && ending !== 'STOP' && { finishMessage }) }
}

/** The reasons for which a prompt is blocked (`sandbox:block:JAILBREAK`), the usual one first. */
const blockReasons =
  'PROHIBITED_CONTENT SAFETY OTHER BLOCKLIST IMAGE_SAFETY MODEL_ARMOR JAILBREAK BLOCK_REASON_UNSPECIFIED'.split(
    ' ',
  )

function ratingsOf(body: JsonObject, refuses: boolean): readonly JsonObject[] {
  const dangerous = 'HARM_CATEGORY_DANGEROUS_CONTENT'
  const categories = new Set(objectsOf(body['safetySettings']).map(({ category }) => textOf(category)))
  if (refuses) categories.add(dangerous)
  return Array.from(categories, (category) => {
    const blocked = refuses && category === dangerous
    return { category, probability: blocked ? 'HIGH' : 'NEGLIGIBLE', blocked }
  })
}

/** What one chunk has of a candidate. */
interface Piece {
  /** Undefined for what only counts: a call that the token limit cut is left out. */
  readonly part?: JsonObject
  readonly tokens: number
  /** Tokens of thoughts, which are counted apart. */
  readonly thoughts?: number
}

interface Candidate {
  /** At least one. */
  readonly pieces: readonly Piece[]
  /** The fields of its last chunk: finish reason, ratings, grounding, citations. */
  readonly ending: JsonObject
}

/** The parts of an answer, each as it is streamed. */
function piecesOf(parts: readonly AnswerPart[], isSigned: boolean): Piece[] {
  return parts.flatMap(({ call, tokens, value, isCut }): Piece[] => {
    if (call === undefined) return tokens.map((text) => ({ part: { text }, tokens: 1 }))
    if (isCut) return [{ tokens: tokens.length }]
    const { name } = call
    const id = `call_${seededHex(12, name, tokens.join(''))}`
    const signature = isSigned && { thoughtSignature: Buffer.from(`sandbox:${name}`).toString('base64') }
    return [{ part: { functionCall: { id, name, args: value }, ...signature }, tokens: tokens.length }]
  })
}

/** In each chunk a piece of every candidate that is not finished, and cumulative usage (wire notes, section 1). */
function* chunkFrames(candidates: readonly Candidate[], usageWith: Usage): Generator<Frame> {
  const length = Math.max(...candidates.map(({ pieces }) => pieces.length))
  for (let step = 0; step < length; step++) {
    const going = [...candidates.entries()].filter(([, { pieces }]) => step < pieces.length)
    const contents = going.map(([index, candidate]) => contentOf(candidate, index, step, step + 1))
    const usage = usageWith(going.map(([, { pieces }]) => pieces[step]!))
    const role = step === length - 1 ? 'terminal' : 'event'
    yield chunkFrame({ candidates: contents, ...usage }, step === 0 ? 'first' : 'token', role)
  }
}

/** `data:` lines that end in CRLF, without event names and without `[DONE]` (wire notes, section 1, "Framing"). */
function chunkFrame(body: JsonObject, pause: Pause, role: Frame['role']): Frame {
  return { text: `data: ${JSON.stringify(body)}\r\n\r\n`, pause, role }
}

/** The reply as the one document that `:generateContent` answers with: every text of a candidate in one part. */
function replyDocument(candidates: readonly Candidate[], usageWith: Usage): JsonObject {
  const contents = candidates.map((candidate, index) => contentOf(candidate, index))
  return { candidates: contents, ...usageWith(candidates.flatMap(({ pieces }) => pieces)) }
}

function blocking(blockReason: string): JsonObject {
  const promptFeedback = {
    blockReason,
    blockReasonMessage: '[sandbox] The prompt was blocked.',
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }],
  }
  return { promptFeedback }
}

/** Prompt, found, visible and thought tokens add up; the result adds pieces, and gives the fields of their chunk. */
function createUsage(names: JsonObject, promptTokens: number, toolTokens: number) {
  let [thoughts, visible] = [0, 0]
  return (added: readonly Piece[]): JsonObject => {
    for (const piece of added) {
      thoughts += piece.thoughts ?? 0
      visible += piece.tokens
    }
    const usageMetadata = {
      promptTokenCount: promptTokens,
      cachedContentTokenCount: 0,
      candidatesTokenCount: visible,
      totalTokenCount: promptTokens + toolTokens + visible + thoughts,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      ...(toolTokens > 0 && { toolUsePromptTokenCount: toolTokens }),
    }
    return { usageMetadata, ...names }
  }
}

type Usage = ReturnType<typeof createUsage>

/** Some pieces of a candidate, or all of them, as its part of a chunk. */
function contentOf({ pieces, ending }: Candidate, index: number, start = 0, end = pieces.length): JsonObject {
  const parts = joinedParts(
    pieces.slice(start, end).flatMap(({ part }): JsonObject[] => (part === undefined ? [] : [part])),
  )
  const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' }
  if (end < pieces.length) return { content, index }
  const tokenCount = pieces.reduce((sum, { tokens }) => sum + tokens, 0)
  return { content, index, ...ending, tokenCount }
}

/** Texts of one kind that follow each other as one part. */
function joinedParts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const isText = typeof part['text'] === 'string' && typeof last?.['text'] === 'string'
    if (isText && last['thought'] === part['thought'])
      joined.splice(-1, 1, { ...last, text: `${last['text']}${part['text']}` })
    else joined.push(part)
  }
  return joined
}
