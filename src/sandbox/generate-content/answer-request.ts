import {
  askedFor,
  chooseCalls,
  countJson,
  countTokens,
  mediaTokens,
  scenarios,
  textOfParts,
  type Answer,
  type TextRequest,
  type ToolCall,
} from '../answer/answer.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import type { Budget } from '../budget.ts'
import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import { brokenOff } from '../faults/change-reply.ts'
import { errorBody, assertValid, RequestProblem } from '../http/request-problem.ts'
import { googleJsonType, googleReply, streamReply, type Frame, type Reply } from '../http/reply.ts'
import { drawScene } from '../images/scene/draw-scene.ts'
import {
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  type JsonObject,
  listOf,
  textsOf,
  isObject,
} from '../json-value.ts'
import { textModel, type SandboxModel } from '../models.ts'
import { type SandboxRequest, type SandboxContext, scenarioHeader } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import {
  blockedChunk,
  chunksOf,
  type ReplyFacts,
  arrayFrames,
  eventFrames,
  replyDocument,
} from './reply-chunks.ts'

/** Chunks before generation breaks off in the scenario `error`. */
const chunksBeforeError = 5
const breakOffProblem = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * Endpoint 1: `:streamGenerateContent` as events, or with `alt=json` as one JSON array sent piece by piece,
 * and `:generateContent` as one document.
 * @throws RequestProblem
 */
export async function answerGenerateContent(
  request: SandboxRequest,
  streams: boolean,
  { seed }: SandboxContext,
): Promise<Reply> {
  const { body, budget, params } = request
  const modelId = params['model']!
  assertValid(generateContentEndpoint, body)
  const model = textModel(modelId)
  const promptTokens = countPrompt(body)
  if (promptTokens > model.contextWindow) {
    throw new RequestProblem(
      400,
      `The input token count (${promptTokens}) exceeds the maximum number of tokens allowed (${model.contextWindow}).`,
    )
  }
  const textRequest = readRequest(request, model, seed)
  const facts: ReplyFacts = {
    responseId: seededHex(22, seed, 'generate-content', request.number),
    modelVersion: modelId,
    promptTokens,
    categories: objectsOf(body['safetySettings']).map((setting) => textOf(setting['category'])),
  }
  const config = objectOf(body['generationConfig'])
  const count = numberOf(config['candidateCount']) ?? 1
  for (let candidate = 0; candidate < count; candidate++) budget.spendOn(facts.categories)
  const answers: Answer[] = []
  for (let index = 0; index < count; index++) {
    const candidate = { ...textRequest, seed: [...textRequest.seed, index] }
    const image = wantsImage(config) ? await drawImage(candidate) : undefined
    answers.push(withoutHiddenThoughts(composeAnswer(candidate, budget, image), config))
  }
  const isBlocked = textRequest.scenario === 'block'
  if (!streams || request.ignoresStream) {
    if (textRequest.scenario === 'error') throw breakOffProblem
    const document = isBlocked ? blockedChunk(facts).body : replyDocument(answers, facts)
    return googleReply(document, { creates: true, pause: 'first' })
  }
  const chunks = isBlocked ? [blockedChunk(facts)] : chunksOf(answers, facts)
  const asEvents = request.query.get('alt') !== 'json'
  const frames = asEvents ? eventFrames(chunks) : arrayFrames(chunks)
  const breakOff = () => breakOffFrames(asEvents)
  const isError = textRequest.scenario === 'error'
  return streamReply(isError ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames, {
    headers: { 'content-type': asEvents ? 'text/event-stream' : googleJsonType },
    breakOff,
  })
}

/** Thoughts are counted even if they are not shown (`includeThoughts` absent). */
function withoutHiddenThoughts(answer: Answer, config: JsonObject): Answer {
  const isShown = objectOf(config['thinkingConfig'])['includeThoughts'] === true
  return isShown ? answer : { ...answer, thoughts: [] }
}

/** The error as the service writes it into a running stream: plain JSON, not an event (wire notes, section 1). */
function breakOffFrames(asEvents: boolean): readonly Frame[] {
  const error = JSON.stringify(errorBody('google', breakOffProblem), null, 2)
  return [{ text: asEvents ? `${error}\n` : `,\n${error}\n]`, pause: 'token', role: 'terminal' }]
}

/** A small PNG of the prompt, in base64. */
async function drawImage({ seed, prompt }: TextRequest): Promise<string> {
  const scene = drawScene({ seed, prompt, width: 64, height: 64, detail: 1, isVivid: true })
  return Buffer.from(await encodePng(scene)).toString('base64')
}

/** Parses a content-generation request (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readRequest(request: SandboxRequest, model: SandboxModel, seed: number): TextRequest {
  const { body, budget } = request
  const config = objectOf(body['generationConfig'])
  const ownSeed = numberOf(config['seed'])
  const { parts } = objectOf(listOf(body['contents']).at(-1))
  const prompt = textOfParts(parts)
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const toolOutputs = objectsOf(parts)
    .map((part) => part['functionResponse'])
    .filter((response) => response !== undefined)
  return {
    seed: ownSeed === undefined ? [...request.seed, model.id] : [seed, model.id, ownSeed],
    prompt,
    scenario: askedFor(scenarios, scenarioHeader(request), prompt) ?? model.scenario,
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: callsOf(body, { prompt, hasOutput: toolOutputs.length > 0, budget }),
    toolOutputs: toolOutputs.map((response) => JSON.stringify(objectOf(response)['response'] ?? null)),
    thinks: thinks(objectOf(config['thinkingConfig'])),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
}

function wantsImage(config: JsonObject): boolean {
  return textsOf(config['responseModalities']).some((kind) => kind.toUpperCase() === 'IMAGE')
}

function thinks({ thinkingBudget, thinkingLevel, includeThoughts }: JsonObject): boolean {
  if (thinkingBudget === 0) return false
  return includeThoughts === true || thinkingBudget !== undefined || thinkingLevel !== undefined
}

const callModes = { NONE: 'none', ANY: 'required' } as const

function callsOf(
  body: JsonObject,
  situation: { prompt: string; hasOutput: boolean; budget: Budget },
): readonly ToolCall[] {
  const config = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const mode = callModes[textOf(config['mode']).toUpperCase() as keyof typeof callModes] ?? 'auto'
  const allowed = new Set(textsOf(config['allowedFunctionNames']))
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .map((declaration) => ({
      name: textOf(declaration['name']),
      parameters: declaration['parameters'] ?? declaration['parametersJsonSchema'] ?? { type: 'object' },
    }))
    .filter(({ name }) => name !== '' && (allowed.size === 0 || allowed.has(name)))
  return chooseCalls(mode, declared, situation)
}

/** Tokens of everything the model reads: contents, system instruction, tool declarations. */
function countPrompt(body: JsonObject): number {
  const contents = [...objectsOf(body['contents']), objectOf(body['systemInstruction'])]
  const parts = contents.flatMap((content) => objectsOf(content['parts']))
  return parts.reduce((sum, part) => sum + countPart(part), countJson(body['tools']))
}

function countPart(part: JsonObject): number {
  if (typeof part['text'] === 'string') return countTokens(part['text'])
  return isObject(part['inlineData']) || isObject(part['fileData']) ? mediaTokens : countJson(part)
}
