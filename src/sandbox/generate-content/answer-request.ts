import {
  chooseCalls,
  textOfParts,
  wantsRecall,
  type Answer,
  type TextRequest,
  type ToolCall,
} from '../answer/answer.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { encodePng } from '../../files/codecs.ts'
import { brokenOff } from '../faults/change-reply.ts'
import { errorBody, assertValid, RequestProblem } from '../http/request-problem.ts'
import { googleJsonType, googleReply, streamReply, type Frame, type Reply } from '../http/reply.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { numberOf, objectOf, objectsOf, textOf, type JsonObject, listOf, textsOf } from '../json-value.ts'
import { textModel, type SandboxModel } from '../sandbox-models.ts'
import { assertAnswerLimits, scenarioHeader, type Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { useTools, type ToolUse } from './tool-use.ts'
import { assertContents } from './check-contents.ts'
import { citationsOf } from './grounding.ts'
import {
  arrayFrames,
  blockedChunk,
  chunksOf,
  eventFrames,
  replyDocument,
  type Candidate,
  type ReplyFacts,
} from './reply-chunks.ts'
import { rateSafety } from './safety.ts'
import { blockReasonOf, endingOf, readWishes, type Wishes } from './scenario.ts'
import { countPrompt } from './token-usage.ts'

/** Chunks before generation breaks off in the scenario `error`. */
const chunksBeforeError = 5
const breakOffProblem = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * Endpoint 1, `:streamGenerateContent`: events, or with `alt=json` one JSON array sent piece by piece.
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
  const { body, sandbox } = exchange
  const { seed, promptCache: cache } = sandbox
  assertValid(generateContentEndpoint, body)
  assertContents(body)
  const model = textModel(exchange.params['model']!)
  const prompt = countPrompt(body)
  if (prompt.total > model.contextWindow) {
    throw new RequestProblem(
      400,
      `The input token count (${prompt.total}) exceeds the maximum number of tokens allowed (${model.contextWindow}).`,
    )
  }
  const plan = readRequest(exchange, model, seed)
  const group = JSON.stringify(['content', model.id])
  const facts: ReplyFacts = {
    responseId: seededHex(22, seed, 'generate-content', exchange.number),
    modelVersion: model.id,
    spent: { prompt, cached: cache.countCached(group, prompt.texts), tools: plan.tools.tokens },
    streamsArguments: callConfig(body)['streamFunctionCallArguments'] === true,
  }
  cache.remember(group, prompt.texts)
  const { scenario } = plan.text
  if (scenario === 'block') {
    const blocked = blockedChunk(blockReasonOf(plan.wishes), facts)
    return isStream ? streamOf(exchange, [blocked]) : documentOf(blocked.body)
  }
  const candidates = await candidatesOf(exchange, plan)
  if (isStream) {
    return streamOf(exchange, chunksOf(candidates, facts), scenario === 'error')
  }
  if (scenario === 'error') throw breakOffProblem
  return documentOf(replyDocument(candidates, facts))
}

function documentOf(body: JsonObject): Reply {
  return googleReply(body, { creates: true, pause: 'first' })
}

function streamOf(exchange: Exchange, chunks: Parameters<typeof eventFrames>[0], breaks = false): Reply {
  const asEvents = exchange.query.get('alt') !== 'json'
  const frames = asEvents ? eventFrames(chunks) : arrayFrames(chunks)
  const breakOff = () => breakOffFrames(asEvents)
  return streamReply(breaks ? brokenOff(frames, chunksBeforeError + 1, breakOff) : frames, {
    headers: { 'content-type': asEvents ? 'text/event-stream' : googleJsonType },
    breakOff,
  })
}

/** The error as the service writes it into a running stream: plain JSON, not an event (wire notes, section 1). */
function breakOffFrames(asEvents: boolean): readonly Frame[] {
  const error = JSON.stringify(errorBody('google', breakOffProblem), null, 2)
  return [{ text: asEvents ? `${error}\n` : `,\n${error}\n]`, pause: 'token', role: 'terminal' }]
}

/** A content-generation request, as the sandbox understands it. */
interface Plan {
  readonly text: TextRequest
  readonly wishes: Wishes
  readonly tools: ToolUse
  /** Finish reason and message, where they are not those of the answer. */
  readonly finish: JsonObject | undefined
}

/** Parses a request (specification, endpoint 1; inner shapes from wire notes, section 1). */
function readRequest(exchange: Exchange, model: SandboxModel, seed: number): Plan {
  const { body } = exchange
  const config = objectOf(body['generationConfig'])
  const ownSeed = numberOf(config['seed'])
  const { parts } = objectOf(listOf(body['contents']).at(-1))
  const prompt = textOfParts(parts)
  const wishes = readWishes(scenarioHeader(exchange), prompt)
  const { scenario, finish } = endingOf(wishes, model.scenario)
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const toolOutputs = objectsOf(parts)
    .map((part) => part['functionResponse'])
    .filter((response) => response !== undefined)
  const hasOutput = toolOutputs.length > 0
  const mode = callModes[textOf(callConfig(body)['mode']).toUpperCase() as keyof typeof callModes] ?? 'auto'
  const tools = useTools(body, { prompt, wishes, mode, hasOutput })
  const text: TextRequest = {
    seed: ownSeed === undefined ? [...exchange.seed, model.id] : [seed, model.id, ownSeed],
    prompt,
    scenario,
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: [...callsOf(body, mode, { prompt, hasOutput }), ...tools.calls],
    ...(wantsRecall(prompt) && { recalled: earlierPrompts(body) }),
    toolOutputs: toolOutputs.map((response) => JSON.stringify(objectOf(response)['response'] ?? null)),
    thinks: thinks(objectOf(config['thinkingConfig'])),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
  return { text, wishes, tools, finish }
}

function earlierPrompts({ contents }: JsonObject): readonly string[] {
  return objectsOf(contents)
    .slice(0, -1)
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => textOfParts(parts))
}

async function candidatesOf(exchange: Exchange, plan: Plan): Promise<Candidate[]> {
  const { body } = exchange
  const config = objectOf(body['generationConfig'])
  const { wishes, finish } = plan
  const { ratings, isBlocked } = rateSafety(body, wishes, plan.text.scenario === 'refusal')
  const isUnsafe = isBlocked && plan.text.scenario !== 'refusal'
  const logprobs = config['responseLogprobs'] === true ? (numberOf(config['logprobs']) ?? 0) : undefined
  const count = numberOf(config['candidateCount']) ?? 1
  const candidates: Candidate[] = []
  let characters = 0
  for (let index = 0; index < count; index++) {
    const text = { ...plan.text, seed: [...plan.text.seed, index] }
    const toolParts =
      isUnsafe || text.scenario === 'empty' ? [] : affordable(plan.tools.parts, text.maxTokens)
    const used = toolParts.reduce((sum, { tokens }) => sum + tokens, 0)
    const answer = shownOf(
      composeAnswer(
        {
          ...text,
          ...(isUnsafe && { scenario: 'empty' }),
          maxTokens: text.maxTokens === undefined ? undefined : text.maxTokens - used,
        },
        exchange,
        wantedKinds(config).has('IMAGE') ? await drawImage(text, config) : undefined,
      ),
      config,
    )
    const words = answer.parts.flatMap((part) => (part.kind === 'text' ? part.tokens : []))
    const written = words.join('')
    characters += written.length + JSON.stringify([toolParts, ratings]).length
    for (const part of answer.parts) if (part.kind === 'call') characters += part.arguments.length
    characters += logprobs === undefined ? 0 : words.length * (1 + logprobs) * charactersOfScore
    assertAnswerLimits(exchange, characters)
    const ending = {
      ...finishOf(answer, isUnsafe),
      ...finish,
      ...(ratings.length > 0 && { safetyRatings: ratings }),
      ...(wishes.has('citations') && citationsOf(written)),
      ...(plan.text.format === 'text' && written !== '' && plan.tools.metadata(written, toolParts.length)),
    }
    candidates.push({ answer, toolParts, ending, logprobs })
  }
  return candidates
}

/** The least that a log probability adds to a reply. */
const charactersOfScore = 20

/** Parts that the token limit allows: all or none. */
function affordable(parts: ToolUse['parts'], maxTokens = Infinity): ToolUse['parts'] {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0) < maxTokens ? parts : []
}

const finishReasons = {
  complete: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  block: 'SAFETY',
  failure: 'OTHER',
  error: 'OTHER',
} as const

function finishOf({ ending }: Answer, isUnsafe: boolean): JsonObject {
  if (isUnsafe) return { finishReason: 'SAFETY' }
  const message = ending === 'failure' ? { finishMessage: '[sandbox] Nothing could be generated.' } : {}
  return { finishReason: finishReasons[ending], ...message }
}

/** Thoughts are counted even if they are not shown; text is left out where only an image is wanted. */
function shownOf(answer: Answer, config: JsonObject): Answer {
  const showsThoughts = objectOf(config['thinkingConfig'])['includeThoughts'] === true
  const kinds = wantedKinds(config)
  const isImage = answer.parts.some(({ kind }) => kind === 'image') && !kinds.has('TEXT')
  const parts = isImage ? answer.parts.filter(({ kind }) => kind === 'image') : answer.parts
  const text = isImage ? answer.parts.flatMap((part) => (part.kind === 'image' ? [] : part.tokens)) : []
  return {
    ...answer,
    parts,
    visibleTokens: answer.visibleTokens - text.length,
    ...(!showsThoughts && { thoughts: [] }),
  }
}

function wantedKinds(config: JsonObject): ReadonlySet<string> {
  return new Set(textsOf(config['responseModalities']).map((kind) => kind.toUpperCase()))
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

function thinks({ thinkingBudget, thinkingLevel, includeThoughts }: JsonObject): boolean {
  if (thinkingBudget === 0) return false
  return includeThoughts === true || thinkingBudget !== undefined || thinkingLevel !== undefined
}

const callModes = { NONE: 'none', ANY: 'required' } as const

function callConfig(body: JsonObject): JsonObject {
  return objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
}

function callsOf(
  body: JsonObject,
  mode: 'none' | 'auto' | 'required',
  situation: { prompt: string; hasOutput: boolean },
): readonly ToolCall[] {
  const allowed = new Set(textsOf(callConfig(body)['allowedFunctionNames']))
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .map((declaration) => ({
      name: textOf(declaration['name']),
      parameters: declaration['parameters'] ?? declaration['parametersJsonSchema'] ?? { type: 'object' },
    }))
    .filter(({ name }) => name !== '' && (allowed.size === 0 || allowed.has(name)))
  return chooseCalls(mode, declared, situation)
}
