import {
  type Answer,
  type Question,
  type PlannedCall,
  isNamed,
  scenarioOf,
  countTokens,
} from '../answer/answer.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import { brokenOff } from '../faults/replace-reply.ts'
import { envelope, assertValid, RequestProblem } from '../http/problem.ts'
import { jsonReply, type Frame, type Reply } from '../http/reply.ts'
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
import { blockedChunk, chunksOf, type ReplyFacts, arrayFrames, eventFrames, mergeChunks } from './chunks.ts'
import type { Budget } from '../budget.ts'

/** Chunks that still come before generation breaks off in the scenario `error`. */
const chunksBeforeError = 5
const breakOffProblem = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * Endpoint 1: `:streamGenerateContent` as events (`alt=sse`) or as one JSON array sent piece by piece,
 * and `:generateContent` as one document.
 * @throws RequestProblem
 */
export async function answerGenerateContent(
  request: SandboxRequest,
  modelId: string,
  streams: boolean,
  { seed }: SandboxContext,
): Promise<Reply> {
  const { body, budget } = request
  assertValid(generateContentEndpoint, body)
  const model = textModel(modelId)
  const promptTokens = countPrompt(body)
  if (promptTokens > model.contextWindow) {
    throw new RequestProblem(
      400,
      `The input token count (${promptTokens}) exceeds the maximum number of tokens allowed (${model.contextWindow}).`,
    )
  }
  const question = readQuestion(request, model, seed)
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
    const candidate = { ...question, seed: [...question.seed, index] }
    const image = question.wantsImage ? await drawImage(candidate) : undefined
    answers.push(withoutHiddenThoughts(composeAnswer(candidate, budget, image), config))
  }
  const chunks = question.scenario === 'block' ? [blockedChunk(facts)] : chunksOf(answers, facts)
  if (!streams || request.ignoresStream) {
    if (question.scenario === 'error') throw breakOffProblem
    return jsonReply(mergeChunks(chunks), {
      headers: { 'content-type': 'application/json; charset=UTF-8' },
      pretty: true,
      creates: true,
      pause: 'first',
    })
  }
  const asEvents = request.query.get('alt') === 'sse'
  const frames = asEvents ? eventFrames(chunks) : arrayFrames(chunks)
  const breakOff = () => breakOffFrames(asEvents)
  return {
    status: 200,
    headers: { 'content-type': asEvents ? 'text/event-stream' : 'application/json; charset=UTF-8' },
    frames: question.scenario === 'error' ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames,
    isWhole: false,
    creates: true,
    breakOff,
  }
}

/** Thoughts are counted even where they are not shown (`includeThoughts` absent). */
function withoutHiddenThoughts(answer: Answer, config: JsonObject): Answer {
  const isShown = objectOf(config['thinkingConfig'])['includeThoughts'] === true
  return isShown ? answer : { ...answer, thoughts: [] }
}

/** The error as the service writes it into a running stream: plain JSON, not an event (wire notes, section 1). */
function breakOffFrames(asEvents: boolean): readonly Frame[] {
  const error = JSON.stringify(envelope('google', breakOffProblem), null, 2)
  return [{ text: asEvents ? `${error}\n` : `,\n${error}\n]`, pause: 'token', role: 'terminal' }]
}

/** A small PNG of the prompt, in base64. */
async function drawImage({ seed, prompt }: Question): Promise<string> {
  const scene = drawScene({ seed, prompt, width: 64, height: 64, detail: 1, isVivid: true })
  return Buffer.from(await encodePng(scene)).toString('base64')
}

/** What a content-generation request asks for (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readQuestion(request: SandboxRequest, model: SandboxModel, seed: number): Question {
  const { body, budget } = request
  const config = objectOf(body['generationConfig'])
  const last = objectOf(listOf(body['contents']).at(-1))
  const prompt = textIn(last)
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const thinking = objectOf(config['thinkingConfig'])
  const toolOutputs = objectsOf(last['parts'])
    .map((part) => part['functionResponse'])
    .filter((response) => response !== undefined)
  return {
    seed: [seed, model.id, numberOf(config['seed']) ?? 0],
    prompt,
    scenario: scenarioOf(scenarioHeader(request), prompt, model.scenario),
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: callsOf(body, prompt, toolOutputs.length > 0, budget),
    toolOutputs: toolOutputs.map((response) => JSON.stringify(objectOf(response)['response'] ?? null)),
    thinks: thinks(thinking),
    wantsImage: textsOf(config['responseModalities']).some((kind) => kind.toUpperCase() === 'IMAGE'),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
}

/** The texts of a `Content`, a paragraph for each part. */
function textIn(content: JsonObject): string {
  return objectsOf(content['parts'])
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

function thinks(config: JsonObject): boolean {
  if (config['thinkingBudget'] === 0) return false
  return (
    config['includeThoughts'] === true ||
    config['thinkingBudget'] !== undefined ||
    config['thinkingLevel'] !== undefined
  )
}

/** A function is called when the mode is ANY, or when the prompt names it and no answer of a function came along. */
function callsOf(body: JsonObject, prompt: string, hasOutput: boolean, budget: Budget): PlannedCall[] {
  const config = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const mode = textOf(config['mode']).toUpperCase()
  if (mode === 'NONE') return []
  const allowed = new Set(textsOf(config['allowedFunctionNames']))
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .filter((declaration) => textOf(declaration['name']) !== '')
    .map((declaration) => ({
      name: textOf(declaration['name']),
      parameters: declaration['parameters'] ?? declaration['parametersJsonSchema'] ?? { type: 'object' },
    }))
    .filter(({ name }) => allowed.size === 0 || allowed.has(name))
  const named = declared.filter(({ name }) => isNamed(name, prompt, budget))
  if (mode === 'ANY') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}

/** What an image, a sound or a file counts, whatever its size. */
const mediaTokens = 258

/** Tokens of everything the model reads: contents, system instruction, tool declarations. */
function countPrompt(body: JsonObject): number {
  const contents = [...objectsOf(body['contents']), objectOf(body['systemInstruction'])]
  const parts = contents.flatMap((content) => objectsOf(content['parts']))
  const tools = body['tools'] === undefined ? 0 : countTokens(JSON.stringify(body['tools']))
  return parts.reduce((sum, part) => sum + countPart(part), tools)
}

function countPart(part: JsonObject): number {
  if (typeof part['text'] === 'string') return countTokens(part['text'])
  return isObject(part['inlineData']) || isObject(part['fileData'])
    ? mediaTokens
    : countTokens(JSON.stringify(part))
}
