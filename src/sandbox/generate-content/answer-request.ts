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
import { type TextRequest, type ToolCall, composeAnswer } from '../answer/compose-answer.ts'
import { brokenOff, type Frame, type Frames, type Reply, googleReply, streamReply } from '../http/reply.ts'
import { RequestProblem, assertValid, brokeOff, errorBody } from '../http/request-problem.ts'
import { shapeOf } from '../images/image-request.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { type JsonObject, isObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import { contextWindowOf } from '../sandbox-models.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { assertContents, withCanonicalNames } from './check-contents.ts'
import {
  type Candidate,
  type Piece,
  blockedDocument,
  chunkFrame,
  chunkFrames,
  piecesOf,
  replyDocument,
} from './reply-chunks.ts'
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
    throw new RequestProblem(
      400,
      `The input token count (${promptTokens}) exceeds the maximum number of tokens allowed (${window}).`,
    )
  }
  const plan = readRequest(exchange, model)
  const facts = {
    responseId: seededHex(22, sandbox.seed, 'generate-content', exchange.number),
    modelVersion: model,
    promptTokens,
    toolTokens: plan.tools.tokens,
  }
  const { ending, words } = plan.text.scenario
  if (ending === 'block') {
    const { variant } = words.find(({ name }) => name === 'block') ?? {}
    const blocked = blockedDocument(
      blockReasons.find((reason) => reason === variant) ?? blockReasons[0]!,
      facts,
    )
    return isStream ? streamOf([chunkFrame(blocked, 'first', 'terminal')]) : documentOf(blocked)
  }
  const candidates = await candidatesOf(exchange, plan)
  if (isStream) {
    const frames = chunkFrames(candidates, facts)
    return streamOf(ending === 'error' ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames)
  }
  if (ending === 'error') throw brokeOff
  return documentOf(replyDocument(candidates, facts))
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
  const parts = [objectOf(systemInstruction), ...objectsOf(contents)].flatMap((content) =>
    objectsOf(content['parts']),
  )
  return parts.reduce(
    (sum, part) => {
      if (isObject(part['inlineData'] ?? part['fileData'])) return sum + mediaTokens
      return sum + countTokens(typeof part['text'] === 'string' ? part['text'] : JSON.stringify(part))
    },
    tools === undefined ? 0 : countTokens(JSON.stringify(tools)),
  )
}

const callModes: Readonly<Record<string, 'none' | 'required'>> = { NONE: 'none', ANY: 'required' }

type Plan = ReturnType<typeof readRequest>

/** Parses a request (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readRequest(exchange: Exchange, model: string) {
  const { body, sandbox } = exchange
  const config = objectOf(body['generationConfig'])
  const contents = objectsOf(body['contents'])
  const { parts } = objectOf(contents.at(-1))
  const prompt = textOfParts(parts)
  // A finish reason is a scenario, too: `sandbox:RECITATION`.
  const scenario = readScenario(exchange.scenario, prompt, model, endings)
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
  const seed = numberOf(config['seed'])
  const { thinkingBudget, thinkingLevel, includeThoughts } = objectOf(config['thinkingConfig'])
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
  return { text, config, tools: useTools(body, prompt, scenario) }
}

/** Tokens of an image in an answer, and the pixels of its shorter edge. */
const [imageTokens, imageEdge] = [64, 64]

/** @throws RequestProblem when they are larger than the sandbox generates */
async function candidatesOf(
  { body, params, sandbox }: Exchange,
  { text, config, tools }: Plan,
): Promise<Candidate[]> {
  const { scenario, maxTokens = Infinity } = text
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
    const answer = await composeAnswer(request, sandbox.clock)
    const { thoughts, parts, visibleTokens } = answer
    const wantsImage = kinds.has('IMAGE') && parts[0]?.kind === 'text'
    const hasImage = wantsImage && left - thoughts.length - visibleTokens >= imageTokens
    const shownParts = hasImage && !kinds.has('TEXT') ? [] : parts
    // From the third generation on calls are signed, whether thoughts are shown or not.
    const isSigned =
      (showsThoughts && thoughts.length > 0) || /^gemini-(?:[3-9]|\d{2})/.test(params['model']!)
    const shownThoughts = showsThoughts ? thoughts : []
    const pieces: Piece[] = [
      ...shownThoughts.map((thought) => ({
        part: { text: thought, thought: true },
        tokens: 1,
        isThought: true,
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
    candidates.push({
      pieces: pieces.length === 0 ? [{ tokens: 0 }] : pieces,
      hiddenThoughts: thoughts.length - shownThoughts.length,
      ending: {
        ...finishOf(wantsImage && !hasImage ? 'length' : answer.ending),
        ...(ratings.length > 0 && { safetyRatings: ratings }),
        ...(isCited && citationsOf(written)),
        ...(text.format === 'text' && written !== '' && tools.metadata(written, used.length)),
      },
    })
  }
  return candidates
}

/** A small PNG of the prompt in the wanted shape, in base64. */
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

/** The finish reason of an ending, and its message. */
function finishOf(ending: string): JsonObject {
  if (Object.hasOwn(endings, ending)) {
    const finishMessage = `[sandbox] The answer ended with ${ending}.`
    return { finishReason: ending, ...(ending !== 'STOP' && { finishMessage }) }
  }
  if (ending === 'failure')
    return { finishReason: 'OTHER', finishMessage: '[sandbox] Nothing could be generated.' }
  const reasons: Readonly<Record<string, string>> = { complete: 'STOP', length: 'MAX_TOKENS', error: 'OTHER' }
  return { finishReason: reasons[ending] ?? 'SAFETY' }
}

/** The reasons for which a prompt is blocked (`sandbox:block:JAILBREAK`), the usual one first. */
const blockReasons =
  'PROHIBITED_CONTENT SAFETY OTHER BLOCKLIST IMAGE_SAFETY MODEL_ARMOR JAILBREAK BLOCK_REASON_UNSPECIFIED'.split(
    ' ',
  )

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
