import type { Answer, Question } from '../answer/answer.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import { brokenOff } from '../faults/change-frames.ts'
import { envelope } from '../http/envelope.ts'
import { assertValid, RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Frame, Reply } from '../http/reply.ts'
import { drawScene } from '../images/scene/draw-scene.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import type { JsonObject } from '../json-value.ts'
import { textModel } from '../models.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { blockedChunk, chunksOf } from './chunks.ts'
import type { ReplyFacts } from './chunks.ts'
import { countPrompt } from './count-prompt.ts'
import { arrayFrames, eventFrames } from './frames.ts'
import { mergeChunks } from './merge-chunks.ts'
import { readQuestion } from './read-question.ts'

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

/** The error as the service writes it into a running stream: plain JSON, not an event (wire facts, section 1). */
function breakOffFrames(asEvents: boolean): readonly Frame[] {
  const error = JSON.stringify(envelope('google', breakOffProblem), null, 2)
  return [{ text: asEvents ? `${error}\n` : `,\n${error}\n]`, pause: 'token', role: 'terminal' }]
}

/** A small PNG of the prompt, in base64. */
async function drawImage({ seed, prompt }: Question): Promise<string> {
  const scene = drawScene({ seed, prompt, width: 64, height: 64, detail: 1, isVivid: true })
  return Buffer.from(await encodePng(scene)).toString('base64')
}
