import { responseFields } from '../../contract/responses.ts'
import { assertAnswerSize, queryOf, readScenario, withoutScenarios } from '../answer/answer.ts'
import { composeAnswer, type AnswerPart } from '../answer/compose-answer.ts'
import { limitExceeded } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, mapped, numberOf, objectOf, textOf } from '../json-value.ts'
import { textModel } from '../sandbox-models.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex, seededRandom } from '../seeded-random.ts'
import { promptsOf, type fitContext } from './input.ts'
import { output, type OutputItem } from './output-items.ts'
import { isBackground, type StoredResponse } from './response-store.ts'
import { callId, useTools, type CallSetting, type Finding } from './tools.ts'

/** The same request gets the same response. */
export async function buildResponse(
  exchange: Exchange,
  { items: context, tokens: inputTokens }: ReturnType<typeof fitContext>,
): Promise<StoredResponse> {
  const { body, sandbox } = exchange
  const model = textOf(body['model']) || textModel
  const salt = sandbox.responses.idSalt(body)
  const id = `resp_${seededHex(48, sandbox.seed, 'responses', exchange.number, ...salt)}`
  const acceptedAt = sandbox.clock.now()
  const { pendingMs, runningMs } = isBackground(body) ? sandbox.pacing : { pendingMs: 0, runningMs: 0 }
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${seededHex(48, id, prefix, ids++)}`
  const { items, ending, thoughtTokens, outputTokens } = await composeItems(exchange, context, model, newId)
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: inputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: thoughtTokens },
    total_tokens: inputTokens + outputTokens,
  }
  const whole = { output: items.map(({ item }) => item), usage }
  const response = {
    id,
    object: 'response',
    created_at: Math.floor(acceptedAt / 1000),
    error: null,
    incomplete_details: null,
    model,
    output: [],
    ...repeatedFields(body),
    ...endOf(ending, whole, Math.floor((acceptedAt + pendingMs + runningMs) / 1000)),
  }
  // Each of several events has all of the response. Pictures are limited by their number.
  const withoutPictures = (name: string, value: unknown) => (name === 'result' ? undefined : value)
  assertAnswerSize(JSON.stringify(response, withoutPictures).length)
  return {
    id,
    response,
    items,
    breaksOff: ending === 'error',
    pads: objectOf(body['stream_options'])['include_obfuscation'] !== false,
    context,
    size: exchange.size + JSON.stringify(items).length,
    acceptedAt,
    pendingMs,
    runningMs,
    isCancelled: false,
  }
}

/** Scenarios in which the model does not get as far as calling a tool. */
const callless = new Set(['refusal', 'block', 'failure'])

async function composeItems(
  exchange: Exchange,
  context: readonly JsonObject[],
  model: string,
  newId: CallSetting['newId'],
) {
  const { body } = exchange
  const prompts = promptsOf(context)
  const prompt = prompts.at(-1) ?? ''
  const scenario = readScenario(exchange.scenario, prompt, model)
  const setting: CallSetting = {
    exchange,
    context,
    words: scenario.words,
    prompt: withoutScenarios(prompt),
    query: queryOf(prompt) || 'sandbox',
    includes: (field) => listOf(body['include']).includes(field),
    newId,
  }
  const isCallless = callless.has(scenario.ending) || scenario.extent === 'nothing'
  const maxTokens = numberOf(body['max_output_tokens']) ?? Infinity
  const { lists, made, tokens, isCut, calls, toolOutputs } = await useTools(setting, isCallless, maxTokens)
  const findings = made.flatMap(({ finding }) => finding ?? [])
  const { type: format, schema } = objectOf(objectOf(body['text'])['format'])
  const { effort, summary } = objectOf(body['reasoning'])
  const isShown = scenario.words.some(({ name }) => name === 'reasoning')
  const answer = await composeAnswer(
    {
      seed: [...exchange.seed, model],
      prompt,
      earlier: prompts.slice(0, -1),
      scenario,
      format: format === 'json_schema' || format === 'json_object' ? 'json' : 'text',
      schema: format === 'json_schema' ? schema : undefined,
      calls,
      toolOutputs,
      findings: findings.map(({ sentence }) => sentence),
      waits: made.some(({ waits }) => waits),
      thinks: isShown || typeof summary === 'string' || (typeof effort === 'string' && effort !== 'none'),
      maxTokens: isCut ? 0 : maxTokens - tokens,
      stopSequences: [],
    },
    exchange.sandbox.clock,
  )
  const { thoughts, visibleTokens, parts } = answer
  const ending = isCut ? 'length' : answer.ending
  const items = [
    ...lists,
    ...(thoughts.length > 0 ? [reasoningItem(thoughts.join(''), isShown, setting)] : []),
    ...made.flatMap((call) => call.output ?? []),
    ...parts.map((part) => partItem(part, ending !== 'block' && !part.isCut, findings, setting)),
  ]
  const outputTokens = thoughts.length + visibleTokens + tokens
  return { items, ending, thoughtTokens: thoughts.length, outputTokens }
}

/** @param isShown whether the reasoning itself is shown, and not only its summary */
function reasoningItem(
  text: string,
  isShown: boolean,
  { exchange, includes, newId }: CallSetting,
): OutputItem {
  const id = newId('rs')
  const hasSummary = isShown || typeof objectOf(exchange.body['reasoning'])['summary'] === 'string'
  const content = [{ type: 'reasoning_text', text: text.replace('The plan is to', 'So I will') }]
  return output({
    id,
    type: 'reasoning',
    summary: hasSummary ? [{ type: 'summary_text', text }] : [],
    ...(isShown && { content }),
    ...(includes('reasoning.encrypted_content') && {
      // Only the gateway can read it.
      encrypted_content: Buffer.from(`sandbox reasoning ${id}`).toString('base64'),
    }),
  })
}

function partItem(
  { kind, tokens, call }: AnswerPart,
  isComplete: boolean,
  findings: readonly Finding[],
  { exchange, newId }: CallSetting,
): OutputItem {
  const status = isComplete ? 'completed' : 'incomplete'
  const text = tokens.join('')
  if (call !== undefined) {
    const shared = { status, call_id: callId(newId), name: call.name }
    return call.parameters === undefined
      ? output({ id: newId('ctc'), type: 'custom_tool_call', ...shared, input: text }, tokens)
      : output({ id: newId('fc'), type: 'function_call', ...shared, arguments: text }, tokens)
  }
  const logprobs = kind === 'text' ? logprobsOf(tokens, exchange.body) : []
  const content =
    kind === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', annotations: annotationsOf(text, findings), logprobs, text }
  const item = { id: newId('msg'), type: 'message', status, role: 'assistant', content: [content] }
  return output(item, tokens, { logprobs })
}

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

/** Every token with its log probability and the requested number of less likely ones, if they are requested. */
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

/** The request fields that a response always has: null if neither the request nor the contract nor this has a value. */
const fallbacks = { metadata: {}, service_tier: 'default', tool_choice: 'auto', tools: [], top_logprobs: 0 }
const nullable =
  'background instructions max_output_tokens max_tool_calls parallel_tool_calls previous_response_id store ' +
  'temperature top_p truncation'

function repeatedFields(body: JsonObject): JsonObject {
  const { effort = null, summary = null } = objectOf(body['reasoning'])
  const { format, verbosity } = objectOf(body['text'])
  // Not null, which the specification does not allow them: JSON leaves out what is undefined.
  const { prompt, prompt_cache_key, safety_identifier, user } = body
  const id = conversationId(body)
  const given = { prompt, prompt_cache_key, safety_identifier, user, conversation: id && { id } }
  const values = { ...Object.fromEntries(nullable.split(' ').map((name) => [name, null])), ...fallbacks }
  return {
    ...mapped<unknown, unknown>(
      values,
      (value, name) => body[name] ?? responseFields[name]?.default ?? value,
    ),
    reasoning: { effort, summary },
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    ...given,
  }
}

/** The conversation that a request names, as an id or as an object with one. */
export function conversationId({ conversation }: JsonObject): string | undefined {
  const id = isObject(conversation) ? conversation['id'] : conversation
  return textOf(id) || undefined
}
