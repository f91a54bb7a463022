import { queryOf, readScenario, withoutScenarios } from '../answer/answer.ts'
import { composeAnswer, type AnswerPart } from '../answer/compose-answer.ts'
import { responseFields } from '../../contract/responses.ts'
import { limitExceeded } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'
import { describeOutput, lastOutputs, promptsOf } from './input.ts'
import { output, type OutputItem } from './output-items.ts'
import type { BuiltResponse } from './response-store.ts'
import {
  callId,
  chosenCalls,
  followApprovals,
  listRemoteTools,
  makeCall,
  usualTools,
  type Finding,
  type MadeCall,
} from './tools.ts'

interface ResponseFacts {
  readonly id: string
  readonly model: string
  /** In seconds since 1970, as the next. */
  readonly createdAt: number
  readonly completedAt: number
  readonly inputTokens: number
}

type NewId = (prefix: string) => string

/** Scenarios in which the model does not get as far as calling a tool. */
const callless = new Set(['refusal', 'block', 'failure'])

/**
 * Builds the response to a context. The same request gets the same one.
 * @param context the conversation so far and the input
 */
export async function buildResponse(
  exchange: Exchange,
  context: readonly JsonObject[],
  facts: ResponseFacts,
): Promise<BuiltResponse> {
  const { body } = exchange
  const prompts = promptsOf(context)
  const prompt = prompts.at(-1) ?? ''
  const scenario = readScenario(exchange.scenario, prompt, facts.model)
  const { words } = scenario
  const isAsked = (name: string) => words.some((word) => word.name === name)
  let ids = 0
  const newId: NewId = (prefix) => `${prefix}_${seededHex(48, facts.id, prefix, ids++)}`
  const includes = (field: string) => listOf(body['include']).includes(field)
  const query = queryOf(prompt) || 'sandbox'
  const setting = { exchange, prompt: withoutScenarios(prompt), query, includes, newId }
  const outputs = lastOutputs(context)
  const isApproval = ({ type }: JsonObject) => type === 'mcp_approval_response'
  const approvals = outputs.filter(isApproval)
  const isCallless = callless.has(scenario.ending) || scenario.extent === 'nothing'
  const chosen =
    approvals.length > 0 || isCallless
      ? { calls: [], builtIn: [] }
      : chosenCalls(body, setting.prompt, words, outputs.length > 0)
  const isListFailing = words.some(({ name, variant }) => name === 'mcp_list_tools' && variant === 'failed')
  const servers = [...objectsOf(body['tools']), ...chosen.builtIn.map(({ tool }) => tool)]
  if (isAsked('mcp_list_tools') && servers.every(({ type }) => type !== 'mcp'))
    servers.push(usualTools['mcp']!)
  const lists = isCallless ? [] : listRemoteTools(servers, context, isListFailing, setting)
  const made: MadeCall[] = [...followApprovals(approvals, context, setting)]
  for (const call of chosen.builtIn) {
    // A server that does not list its tools is not called.
    if (call.kind !== 'mcp' || !isListFailing) made.push(await makeCall(call, setting))
  }
  const maxTokens = numberOf(body['max_output_tokens'])
  const { kept, tokens, isCut } = withinLimit(made, maxTokens)
  const findings = kept.flatMap(({ finding }) => finding ?? [])
  const { type: format, schema } = objectOf(objectOf(body['text'])['format'])
  const { effort, summary } = objectOf(body['reasoning'])
  const answer = await composeAnswer(
    {
      seed: [...exchange.seed, facts.model],
      prompt,
      earlier: prompts.slice(0, -1),
      scenario,
      format: format === 'json_schema' || format === 'json_object' ? 'json' : 'text',
      schema: format === 'json_schema' ? schema : undefined,
      calls: chosen.calls,
      toolOutputs: outputs.filter((item) => !isApproval(item)).map((item) => describeOutput(item['output'])),
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
  const { thoughts, visibleTokens, parts } = answer
  const ending = isCut ? 'length' : answer.ending
  const items = [
    ...lists,
    ...(thoughts.length > 0 ? [reasoningItem(thoughts.join(''), body, isAsked('reasoning'), newId)] : []),
    ...kept.flatMap((call) => call.outputs),
    ...parts.map((part) => {
      const status = part.isCut || ending === 'block' ? 'incomplete' : 'completed'
      return part.call === undefined
        ? message(part, status, body, findings, newId)
        : toolCall(part, status, newId)
    }),
  ]
  const outputTokens = thoughts.length + visibleTokens + tokens
  const usage = {
    input_tokens: facts.inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: facts.inputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: thoughts.length },
    total_tokens: facts.inputTokens + outputTokens,
  }
  const whole = { output: items.map(({ item }) => item), usage }
  const response = { ...begunResponse(body, facts), ...endOf(ending, whole, facts.completedAt) }
  return { response, items, breaksOff: ending === 'error' }
}

function withinLimit(made: readonly MadeCall[], maxTokens = Infinity) {
  const kept: MadeCall[] = []
  let tokens = 0
  for (const call of made) {
    const more = call.outputs.reduce((sum, item) => sum + item.tokens.length, 0)
    if (tokens + more > maxTokens) break
    kept.push(call)
    tokens += more
  }
  return { kept, tokens, isCut: kept.length < made.length }
}

/** @param isShown whether the reasoning itself is shown, and not only its summary */
function reasoningItem(text: string, body: JsonObject, isShown: boolean, newId: NewId): OutputItem {
  const id = newId('rs')
  const hasSummary = isShown || typeof objectOf(body['reasoning'])['summary'] === 'string'
  const content = [{ type: 'reasoning_text', text: text.replace('The plan is to', 'So I will') }]
  return output({
    id,
    type: 'reasoning',
    summary: hasSummary ? [{ type: 'summary_text', text }] : [],
    ...(isShown && { content }),
    ...(listOf(body['include']).includes('reasoning.encrypted_content') && {
      // Only the gateway can read it.
      encrypted_content: Buffer.from(`sandbox reasoning ${id}`).toString('base64'),
    }),
  })
}

function toolCall({ tokens, call }: AnswerPart, status: string, newId: NewId): OutputItem {
  const { name, parameters } = call!
  const shared = { status, call_id: callId(newId), name }
  const item =
    parameters === undefined
      ? { id: newId('ctc'), type: 'custom_tool_call', ...shared, input: tokens.join('') }
      : { id: newId('fc'), type: 'function_call', ...shared, arguments: tokens.join('') }
  return output(item, tokens)
}

function message(
  { kind, tokens }: AnswerPart,
  status: string,
  body: JsonObject,
  findings: readonly Finding[],
  newId: NewId,
): OutputItem {
  const text = tokens.join('')
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
  return tokens.map((token) => {
    const random = seededRandom('logprob', token)
    const rated = Array.from({ length: Math.max(1, top) }, (_, rank) => {
      const likely = rank === 0 ? token : `${token.slice(0, 1)}${rank}`
      const logprob = rank === 0 ? -random() / 4 : -1 - rank - random()
      return { token: likely, bytes: [...Buffer.from(likely)], logprob: Math.round(logprob * 1e6) / 1e6 }
    })
    return { ...rated[0], top_logprobs: top === 0 ? [] : rated }
  })
}

/** The fields of a response that its end sets. */
function endOf(ending: string, whole: JsonObject, completedAt: number): JsonObject {
  if (ending === 'failure' || ending === 'error') {
    const message = '[sandbox] The model could not generate a response.'
    // The public service has `code` and `message`; some clients want a `type`, too.
    return { status: 'failed', error: { type: 'server_error', code: 'server_error', message } }
  }
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
