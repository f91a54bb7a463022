import { queryOf, readScenario, withoutScenarios } from '../answer/answer.ts'
import { composeAnswer, type Answer, type AnswerPart } from '../answer/compose-answer.ts'
import { responseFields } from '../../contract/responses.ts'
import { limitExceeded } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import { scenarioHeader, type Exchange } from '../sandbox.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'
import { chosenCalls, usualTools } from './choose-calls.ts'
import { describeOutput, lastOutputs, promptsOf } from './input.ts'
import { output, type OutputItem } from './output-items.ts'
import { builtInTools, followApprovals, listRemoteTools, type Finding, type MadeCall } from './tools.ts'

interface ResponseFacts {
  readonly id: string
  readonly model: string
  /** Unix time in seconds. */
  readonly createdAt: number
  /** Unix time in seconds. */
  readonly completedAt: number
  readonly inputTokens: number
}

/** All of a response, decided before any of it is sent, so that every way to get it tells the same. */
export interface BuiltResponse {
  /** The response object at its end. */
  readonly response: JsonObject
  readonly items: readonly OutputItem[]
  /** Whether generation ends with an error in mid-stream. */
  readonly breaksOff: boolean
}

/** Scenarios in which the model does not get as far as calling a tool. */
const callless = new Set(['refusal', 'block', 'failure'])

/**
 * Builds the response to a context. The same request gets the same one.
 * @param context the conversation so far and the input
 * @throws RequestProblem
 */
export async function buildResponse(
  exchange: Exchange,
  context: readonly JsonObject[],
  facts: ResponseFacts,
): Promise<BuiltResponse> {
  const { body } = exchange
  const prompts = promptsOf(context)
  const prompt = prompts.at(-1) ?? ''
  const scenario = readScenario(scenarioHeader(exchange), prompt, facts.model)
  const isAsked = (name: string) => scenario.words.some((word) => word.name === name)
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${seededHex(48, facts.id, prefix, ids++)}`
  const setting = { exchange, prompt: withoutScenarios(prompt), query: queryOf(prompt) || 'sandbox', newId }
  const outputs = lastOutputs(context)
  const approvals = outputs.filter(({ type }) => type === 'mcp_approval_response')
  const isCallless = callless.has(scenario.ending) || scenario.extent === 'nothing'
  const chosen =
    approvals.length > 0 || isCallless
      ? { calls: [], builtIn: [] }
      : chosenCalls(body, { prompt: setting.prompt, words: scenario.words, hasOutput: outputs.length > 0 })
  const isListFailing = scenario.words.some(({ name, variant }) => {
    return name === 'mcp_list_tools' && variant === 'failed'
  })
  const servers = [...objectsOf(body['tools']), ...chosen.builtIn.map(({ tool }) => tool)]
  if (isAsked('mcp_list_tools') && servers.every(({ type }) => type !== 'mcp'))
    servers.push(usualTools['mcp']!)
  const lists = isCallless ? [] : listRemoteTools(servers, context, isListFailing, setting)
  const made: MadeCall[] = [...followApprovals(approvals, context, setting)]
  for (const call of chosen.builtIn) {
    // A server that does not list its tools is not called.
    if (call.kind !== 'mcp' || !isListFailing) made.push(await builtInTools[call.kind].make(call, setting))
  }
  const maxTokens = numberOf(body['max_output_tokens'])
  const { kept, tokens, isCut } = withinLimit(made, maxTokens)
  const findings = kept.flatMap(({ finding }) => finding ?? [])
  const format = objectOf(objectOf(body['text'])['format'])
  const { effort, summary } = objectOf(body['reasoning'])
  const answer = await composeAnswer(
    {
      seed: [...exchange.seed, facts.model],
      prompt,
      earlier: prompts.slice(0, -1),
      scenario,
      format: format['type'] === 'json_schema' || format['type'] === 'json_object' ? 'json' : 'text',
      schema: format['type'] === 'json_schema' ? format['schema'] : undefined,
      calls: chosen.calls,
      toolOutputs: outputs
        .filter((item) => !approvals.includes(item))
        .map((item) => describeOutput(item['output'])),
      findings: findings.map(({ sentence }) => sentence),
      waits: kept.some(({ waits }) => waits),
      thinks:
        isAsked('reasoning') ||
        typeof summary === 'string' ||
        (typeof effort === 'string' && effort !== 'none'),
      maxTokens: isCut ? 0 : maxTokens === undefined ? undefined : maxTokens - tokens,
      stopSequences: [],
    },
    exchange.sandbox.clock,
  )
  const ending = isCut ? 'length' : answer.ending
  const items = [
    ...lists,
    ...reasoningItems(answer, body, isAsked('reasoning'), newId),
    ...kept.flatMap((call) => call.outputs),
    ...answer.parts.map((part) => answerItem(part, { body, findings, newId, isBlocked: ending === 'block' })),
  ]
  const usage = usageOf(facts, answer.thoughts.length, answer.visibleTokens + tokens)
  const response = { ...begunResponse(body, facts), ...finalState(ending, items, usage, facts) }
  return { response, items, breaksOff: ending === 'error' }
}

function tokensIn(made: readonly MadeCall[]): number {
  return made.flatMap(({ outputs }) => outputs).reduce((sum, { tokens }) => sum + tokens.length, 0)
}

/** The calls that the token limit has room for. */
function withinLimit(made: readonly MadeCall[], maxTokens = Infinity) {
  let count = 0
  while (count < made.length && tokensIn(made.slice(0, count + 1)) <= maxTokens) count++
  const kept = made.slice(0, count)
  return { kept, tokens: tokensIn(kept), isCut: count < made.length }
}

/** @param isShown whether the reasoning itself is shown, and not only its summary */
function reasoningItems(
  { thoughts }: Answer,
  body: JsonObject,
  isShown: boolean,
  newId: (prefix: string) => string,
): readonly OutputItem[] {
  if (thoughts.length === 0) return []
  const id = newId('rs')
  const text = thoughts.join('')
  const hasSummary = isShown || typeof objectOf(body['reasoning'])['summary'] === 'string'
  const content = [{ type: 'reasoning_text', text: text.replace('The plan is to', 'So I will') }]
  const item = {
    id,
    type: 'reasoning',
    summary: hasSummary ? [{ type: 'summary_text', text }] : [],
    ...(isShown && { content }),
    ...(listOf(body['include']).includes('reasoning.encrypted_content') && {
      // Only the gateway can read it.
      encrypted_content: Buffer.from(`sandbox reasoning ${id}`).toString('base64'),
    }),
  }
  return [output(item)]
}

interface ItemFacts {
  readonly body: JsonObject
  readonly findings: readonly Finding[]
  readonly isBlocked: boolean
  newId(prefix: string): string
}

/** A part of the answer as an output item: a message, or a call of the caller's tool. */
function answerItem(part: AnswerPart, { body, findings, isBlocked, newId }: ItemFacts): OutputItem {
  const { kind, tokens, call } = part
  const text = tokens.join('')
  const status = part.isCut || isBlocked ? 'incomplete' : 'completed'
  if (call !== undefined) {
    const shared = { status, call_id: newId('call').slice(0, 29), name: call.name }
    const item = call.custom
      ? { id: newId('ctc'), type: 'custom_tool_call', ...shared, input: text }
      : { id: newId('fc'), type: 'function_call', ...shared, arguments: text }
    return output(item, tokens)
  }
  const logprobs = kind === 'text' ? logprobsOf(tokens, body) : []
  const content =
    kind === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', annotations: annotationsOf(text, findings), logprobs, text }
  const item = { id: newId('msg'), type: 'message', status, role: 'assistant', content: [content] }
  return output(item, tokens, { logprobs })
}

/** The sources that the text cites, where it has not been cut before them. */
function annotationsOf(text: string, findings: readonly Finding[]): readonly JsonObject[] {
  return findings.flatMap(({ sentence, cited = '', source }) => {
    const found = text.lastIndexOf(sentence)
    if (source === undefined || found === -1) return []
    const start = found + sentence.indexOf(cited)
    const place = { start_index: start, end_index: start + cited.length }
    return [{ ...source, ...(source['type'] !== 'file_citation' && place) }]
  })
}

/** Maximum number of log probabilities in an answer. */
const maxLogprobs = 100_000

/**
 * Every token with its log probability and the requested number of less likely ones, if they are requested.
 * @throws RequestProblem 400 for more than the sandbox generates
 */
function logprobsOf(tokens: readonly string[], body: JsonObject): readonly JsonObject[] {
  const top = numberOf(body['top_logprobs']) ?? 0
  if (top === 0 && !listOf(body['include']).includes('message.output_text.logprobs')) return []
  if (tokens.length * (top + 1) > maxLogprobs)
    throw limitExceeded(`The answer would have more than ${maxLogprobs} log probabilities.`)
  const rounded = (value: number) => Math.round(value * 1e6) / 1e6
  return tokens.map((token) => {
    const random = seededRandom('logprob', token)
    const others = Array.from(
      { length: Math.max(0, top - 1) },
      (_, rank) => `${token.slice(0, 1)}${rank + 1}`,
    )
    const rated = [token, ...others].map((likely, rank) => {
      const logprob = rounded(rank === 0 ? -random() / 4 : -1 - rank - random())
      return { token: likely, bytes: [...Buffer.from(likely)], logprob }
    })
    return { ...rated[0], top_logprobs: top === 0 ? [] : rated }
  })
}

function usageOf({ inputTokens }: ResponseFacts, thoughts: number, visible: number): JsonObject {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: inputTokens },
    output_tokens: thoughts + visible,
    output_tokens_details: { reasoning_tokens: thoughts },
    total_tokens: inputTokens + thoughts + visible,
  }
}

function finalState(
  ending: string,
  items: readonly OutputItem[],
  usage: JsonObject,
  { completedAt }: ResponseFacts,
): JsonObject {
  const message = '[sandbox] The model could not generate a response.'
  // The public service has `code` and `message`; some clients want a `type`, too.
  const error = { type: 'server_error', code: 'server_error', message }
  if (ending === 'failure' || ending === 'error') return { status: 'failed', error }
  const whole = { output: items.map(({ item }) => item), usage }
  if (ending !== 'length' && ending !== 'block')
    return { status: 'completed', ...whole, completed_at: completedAt }
  const reason = ending === 'length' ? 'max_output_tokens' : 'content_filter'
  return { status: 'incomplete', ...whole, incomplete_details: { reason } }
}

/** The request fields that a response always has, with the fallback if the contract has no default. */
const echoed: JsonObject = {
  background: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: null,
  previous_response_id: null,
  service_tier: 'default',
  store: null,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: null,
}

/** The request fields that a response has if the request has them; the specification does not call them nullable. */
const echoedIfGiven = ['prompt', 'prompt_cache_key', 'safety_identifier', 'user']

/** Every field that the specification requires, and the optional ones it names; all but the state. */
function begunResponse(body: JsonObject, { id, createdAt, model }: ResponseFacts): JsonObject {
  const { effort = null, summary = null } = objectOf(body['reasoning'])
  const { format, verbosity } = objectOf(body['text'])
  const given = echoedIfGiven.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))
  const conversation = conversationId(body)
  const repeated = Object.entries(echoed).map(([name, otherwise]) => {
    return [name, body[name] ?? responseFields[name]?.default ?? otherwise]
  })
  return {
    id,
    object: 'response',
    created_at: createdAt,
    error: null,
    incomplete_details: null,
    model,
    output: [],
    ...Object.fromEntries(repeated),
    reasoning: { effort, summary },
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    ...Object.fromEntries(given),
    ...(conversation !== undefined && { conversation: { id: conversation } }),
  }
}

/** The conversation that a request names, as an id or as an object with one. */
export function conversationId({ conversation }: JsonObject): string | undefined {
  const id = isObject(conversation) ? conversation['id'] : conversation
  return textOf(id) || undefined
}
