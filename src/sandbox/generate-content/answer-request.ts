import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import {
  assertAnswerSize,
  chooseCalls,
  countTokens,
  mediaTokens,
  readScenario,
  textOfParts,
} from '../answer/answer.ts'
import { type TextRequest, type ToolCall, composeAnswer } from '../answer/compose-answer.ts'
import { brokenOff } from '../faults/actions.ts'
import { assertContents, withCanonicalNames } from './check-contents.ts'
import {
  type Candidate,
  type Piece,
  type ReplyFacts,
  blockedChunk,
  chunksOf,
  eventFrames,
  imageTokens,
  piecesOf,
  replyDocument,
} from './reply-chunks.ts'
import { type ToolUse, citationsOf, useTools } from './tools.ts'
import { type Frame, type Reply, googleReply, streamReply } from '../http/reply.ts'
import { RequestProblem, assertValid, errorBody } from '../http/request-problem.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { type JsonObject, isObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import { textModel } from '../sandbox-models.ts'
import { type Exchange, scenarioHeader } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'

/** Chunks before generation breaks off in the scenario `error`. */
const chunksBeforeError = 5
const breakOffProblem = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * Endpoint 1, `:streamGenerateContent`: events.
 * @throws RequestProblem
 */
export function streamContent(exchange: Exchange): Promise<Reply> {
  return answerContent(exchange, !exchange.ignoresStream)
}

/**
 * Endpoint 1, `:generateContent`: one document.
 * @throws RequestProblem
 */
export function generateContent(exchange: Exchange): Promise<Reply> {
  return answerContent(exchange, false)
}

async function answerContent(exchange: Exchange, isStream: boolean): Promise<Reply> {
  const { sandbox, params } = exchange
  const body = objectOf(withCanonicalNames(exchange.body))
  exchange.body = body
  assertValid(generateContentEndpoint, body)
  assertContents(body)
  const model = textModel(params['model']!)
  const prompt = countPrompt(body)
  const total = [...prompt.values()].reduce((sum, tokens) => sum + tokens, 0)
  if (total > model.contextWindow) {
    throw new RequestProblem(
      400,
      `The input token count (${total}) exceeds the maximum number of tokens allowed (${model.contextWindow}).`,
    )
  }
  const { text, asked, tools } = readRequest(exchange, model.id)
  const facts: ReplyFacts = {
    responseId: seededHex(22, sandbox.seed, 'generate-content', exchange.number),
    modelVersion: model.id,
    promptTokens: prompt,
    tools: tools.tokens,
  }
  const { ending } = text.scenario
  if (ending === 'block') {
    const blocked = blockedChunk(blockReasonOf(asked.get('block')), facts)
    return isStream ? streamOf([blocked]) : documentOf(blocked.body)
  }
  const candidates = await candidatesOf(exchange, { text, asked, tools })
  if (isStream) return streamOf(chunksOf(candidates, facts), ending === 'error')
  if (ending === 'error') throw breakOffProblem
  return documentOf(replyDocument(candidates, facts))
}

function documentOf(body: JsonObject): Reply {
  return googleReply(body, { creates: true, pause: 'first' })
}

function streamOf(chunks: Parameters<typeof eventFrames>[0], breaks = false): Reply {
  const frames = eventFrames(chunks)
  return streamReply(breaks ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames, {
    headers: { 'content-type': 'text/event-stream' },
    breakOff,
  })
}

/** The error as the service writes it into a running stream: plain JSON, not an event (wire notes, section 1). */
function breakOff(): readonly Frame[] {
  const error = JSON.stringify(errorBody('google', breakOffProblem), null, 2)
  return [{ text: `${error}\n`, pause: 'token', role: 'terminal' }]
}

/** Tokens of the prompt by modality: tools, system instruction, messages. */
function countPrompt(body: JsonObject): ReadonlyMap<string, number> {
  const tokens = new Map([['TEXT', 0]])
  const add = (modality: string, more: number) => tokens.set(modality, (tokens.get(modality) ?? 0) + more)
  if (body['tools'] !== undefined) add('TEXT', countTokens(JSON.stringify(body['tools'])))
  const contents = [objectOf(body['systemInstruction']), ...objectsOf(body['contents'])]
  for (const part of contents.flatMap(({ parts }) => objectsOf(parts))) {
    const media = part['inlineData'] ?? part['fileData']
    if (isObject(media)) {
      const kind = textOf(media['mimeType']).split('/')[0]!.toUpperCase()
      add(['IMAGE', 'AUDIO', 'VIDEO'].includes(kind) ? kind : 'DOCUMENT', mediaTokens)
    } else add('TEXT', countTokens(typeof part['text'] === 'string' ? part['text'] : JSON.stringify(part)))
  }
  return tokens
}

const callModes: Readonly<Record<string, 'none' | 'required'>> = { NONE: 'none', ANY: 'required' }

/** Parses a request (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readRequest(exchange: Exchange, model: string) {
  const { body, sandbox } = exchange
  const config = objectOf(body['generationConfig'])
  const contents = objectsOf(body['contents'])
  const { parts } = objectOf(contents.at(-1))
  const prompt = textOfParts(parts)
  const scenario = contentScenario(scenarioHeader(exchange), prompt, model)
  const asked = new Map(scenario.words.map(({ name, variant }) => [name, variant]))
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const toolOutputs = objectsOf(parts).flatMap(({ functionResponse: output }) =>
    output === undefined ? [] : [JSON.stringify(objectOf(output)['response'] ?? null)],
  )
  const hasOutput = toolOutputs.length > 0
  const calling = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const mode = callModes[textOf(calling['mode']).toUpperCase()] ?? 'auto'
  const tools = useTools(body, prompt, asked)
  const allowed = textsOf(calling['allowedFunctionNames'])
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .map(({ name, parameters, parametersJsonSchema }): ToolCall => ({
      name: textOf(name),
      parameters: parameters ?? parametersJsonSchema ?? { type: 'object' },
    }))
    .filter(({ name }) => name !== '' && (allowed.length === 0 || allowed.includes(name)))
  const seed = numberOf(config['seed'])
  const text: TextRequest = {
    seed: seed === undefined ? [...exchange.seed, model] : [sandbox.seed, model, seed],
    prompt,
    earlier: contents
      .slice(0, -1)
      .filter(({ role }) => role !== 'model')
      .map((content) => textOfParts(content['parts'])),
    scenario,
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: chooseCalls(mode, declared, { prompt, hasOutput }),
    toolOutputs,
    findings: [],
    waits: false,
    thinks: thinks(objectOf(config['thinkingConfig'])),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
  return { text, asked, tools }
}

function thinks({ thinkingBudget, thinkingLevel, includeThoughts }: JsonObject): boolean {
  if (thinkingBudget === 0) return false
  return includeThoughts === true || thinkingBudget !== undefined || thinkingLevel !== undefined
}

interface Plan {
  readonly text: TextRequest
  readonly asked: ReadonlyMap<string, string | undefined>
  readonly tools: ToolUse
}

/** @throws RequestProblem when they are larger than the sandbox generates */
async function candidatesOf(exchange: Exchange, plan: Plan): Promise<Candidate[]> {
  const { body, params } = exchange
  const { text, asked, tools } = plan
  const { scenario, maxTokens = Infinity } = text
  const config = objectOf(body['generationConfig'])
  const ratings = ratingsOf(body, scenario.ending === 'refusal')
  const toolPieces = tools.parts.map((part) => {
    return { kind: 'other', part, tokens: countTokens(JSON.stringify(part)) } as const
  })
  const toolTokens = toolPieces.reduce((sum, { tokens }) => sum + tokens, 0)
  // The token limit allows all of them or none.
  const used = scenario.extent === 'nothing' || toolTokens >= maxTokens ? [] : toolPieces
  const left = used.length === 0 ? maxTokens : maxTokens - toolTokens
  const kinds = new Set(textsOf(config['responseModalities']).map((kind) => kind.toUpperCase()))
  const showsThoughts = objectOf(config['thinkingConfig'])['includeThoughts'] === true
  const candidates: Candidate[] = []
  let characters = 0
  for (let index = 0; index < (numberOf(config['candidateCount']) ?? 1); index++) {
    const request = { ...text, seed: [...text.seed, index], maxTokens: left }
    const answer = await composeAnswer(request, exchange.sandbox.clock)
    const { thoughts, parts, visibleTokens } = answer
    const withImage = kinds.has('IMAGE') && parts[0]?.kind === 'text'
    const hasRoom = left - thoughts.length - visibleTokens >= imageTokens
    const isShown = !withImage || !hasRoom || kinds.has('TEXT')
    // From the third generation on calls are signed, whether thoughts are shown or not.
    const isSigned =
      (showsThoughts && thoughts.length > 0) || /^gemini-(?:[3-9]|\d{2})/.test(params['model']!)
    const shown = showsThoughts ? thoughts : []
    const pieces: Piece[] = [
      ...shown.map((thought) => {
        return { kind: 'thought', part: { text: thought, thought: true }, tokens: 1 } as const
      }),
      ...used,
      ...piecesOf(isShown ? parts : [], isSigned),
    ]
    if (withImage && hasRoom) {
      const inlineData = { mimeType: 'image/png', data: await drawImage(request, config) }
      pieces.push({ kind: 'image', part: { inlineData }, tokens: imageTokens })
    }
    const written = isShown
      ? parts.flatMap(({ kind, tokens }) => (kind === 'call' ? [] : tokens)).join('')
      : ''
    characters += JSON.stringify([pieces.length, used, ratings, parts.map(({ value }) => value)]).length
    characters += written.length
    assertAnswerSize(characters)
    candidates.push({
      pieces: pieces.length === 0 ? [{ kind: 'other', tokens: 0 }] : pieces,
      hiddenThoughts: thoughts.length - shown.length,
      ending: {
        ...finishOf(withImage && !hasRoom ? 'length' : answer.ending),
        ...(ratings.length > 0 && { safetyRatings: ratings }),
        ...(asked.has('citations') && citationsOf(written)),
        ...(text.format === 'text' && written !== '' && tools.metadata(written, used.length)),
      },
    })
  }
  return candidates
}

/** Pixels of the shorter edge of an image in an answer. */
const imageEdge = 64

/** A small PNG of the prompt in the wanted shape, in base64. */
async function drawImage({ seed, prompt }: TextRequest, config: JsonObject): Promise<string> {
  const ratio = textOf(objectOf(config['imageConfig'])['aspectRatio'])
  const [, across = 1, down = 1] = (/^(\d{1,2}):(\d{1,2})$/.exec(ratio) ?? []).map(Number)
  const shape = Math.min(4, Math.max(1 / 4, across / down || 1))
  const width = Math.round(imageEdge * Math.max(1, shape))
  const height = Math.round(imageEdge * Math.max(1, 1 / shape))
  const picture = plainPicture({ seed, text: prompt, caption: `${width}x${height}`, width, height })
  return Buffer.from(await encodePng(picture)).toString('base64')
}

type Extent = 'whole' | 'part' | 'nothing'

/** How much of an answer comes before its finish reason. */
const finishReasons: Readonly<Record<string, Extent>> = {
  STOP: 'whole',
  FINISH_REASON_UNSPECIFIED: 'whole',
  CONTINUATION: 'whole',
  MAX_TOKENS: 'part',
  SAFETY: 'part',
  RECITATION: 'part',
  LANGUAGE: 'part',
  OTHER: 'part',
  MALFORMED_RESPONSE: 'part',
  BLOCKLIST: 'nothing',
  PROHIBITED_CONTENT: 'nothing',
  SPII: 'nothing',
  MALFORMED_FUNCTION_CALL: 'nothing',
  UNEXPECTED_TOOL_CALL: 'nothing',
  TOO_MANY_TOOL_CALLS: 'nothing',
  MISSING_THOUGHT_SIGNATURE: 'nothing',
  NO_IMAGE: 'nothing',
  IMAGE_SAFETY: 'nothing',
  IMAGE_PROHIBITED_CONTENT: 'nothing',
  IMAGE_RECITATION: 'nothing',
  IMAGE_OTHER: 'nothing',
}

const endings = Object.fromEntries(
  Object.entries(finishReasons).map(([ending, extent]) => [ending, { ending, extent }]),
)

/** The scenario of a request: one of both styles, or a finish reason (`sandbox:RECITATION`). */
function contentScenario(header: string | undefined, prompt: string, model: string) {
  return readScenario(header, prompt, model, endings)
}

/** The finish reason of an ending, and its message. */
function finishOf(ending: string): JsonObject {
  if (Object.hasOwn(finishReasons, ending)) {
    const finishMessage = `[sandbox] The answer ended with ${ending}.`
    return { finishReason: ending, ...(ending !== 'STOP' && { finishMessage }) }
  }
  if (ending === 'failure')
    return { finishReason: 'OTHER', finishMessage: '[sandbox] Nothing could be generated.' }
  const reasons: Readonly<Record<string, string>> = { complete: 'STOP', length: 'MAX_TOKENS', error: 'OTHER' }
  return { finishReason: reasons[ending] ?? 'SAFETY' }
}

const blockReasons = new Set([
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
  'BLOCK_REASON_UNSPECIFIED',
])

/** The reason for which a prompt is blocked: that of `sandbox:block:JAILBREAK`, or the usual one. */
function blockReasonOf(wanted = ''): string {
  return blockReasons.has(wanted) ? wanted : 'PROHIBITED_CONTENT'
}

/**
 * The ratings of an answer: one for every category that the request sets a threshold for.
 * @param refuses whether the model refuses, which is rated, too
 */
function ratingsOf(body: JsonObject, refuses: boolean): readonly JsonObject[] {
  const dangerous = 'HARM_CATEGORY_DANGEROUS_CONTENT'
  const categories = new Set(objectsOf(body['safetySettings']).map(({ category }) => textOf(category)))
  if (refuses) categories.add(dangerous)
  return Array.from(categories, (category) => {
    const blocked = refuses && category === dangerous
    return { category, probability: blocked ? 'HIGH' : 'NEGLIGIBLE', blocked }
  })
}
