import { askedFor, scenarios, textOfParts, wantsRecall, type TextRequest } from '../answer/answer.ts'
import { type JsonObject, numberOf, objectOf, textOf, objectsOf } from '../json-value.ts'
import type { SandboxModel } from '../sandbox-models.ts'
import { scenarioHeader, type Exchange } from '../sandbox.ts'

/**
 * Parses a request to create a response; all but the calls.
 * @param items the whole context: the conversation so far and the input
 */
export function readRequest(
  exchange: Exchange,
  items: readonly JsonObject[],
  model: SandboxModel,
): Omit<TextRequest, 'calls'> {
  const { body } = exchange
  const { content } = items.findLast((item) => item['role'] === 'user') ?? {}
  const prompt = typeof content === 'string' ? content : textOfParts(content)
  const format = objectOf(objectOf(body['text'])['format'])
  const kind = textOf(format['type'])
  const { effort, summary } = objectOf(body['reasoning'])
  return {
    seed: [...exchange.seed, model.id],
    prompt,
    scenario: askedFor(scenarios, scenarioHeader(exchange), prompt) ?? model.scenario,
    format: kind === 'json_schema' || kind === 'json_object' ? 'json' : 'text',
    schema: kind === 'json_schema' ? format['schema'] : undefined,
    ...(wantsRecall(prompt) && { recalled: earlierPrompts(items) }),
    toolOutputs: lastOutputs(items).flatMap(({ type, output }) =>
      type === 'mcp_approval_response' ? [] : [describeOutput(output)],
    ),
    thinks: typeof summary === 'string' || (typeof effort === 'string' && effort !== 'none'),
    maxTokens: numberOf(body['max_output_tokens']),
    stopSequences: [],
  }
}

function earlierPrompts(items: readonly JsonObject[]): readonly string[] {
  return items
    .filter(({ role }) => role === 'user')
    .slice(0, -1)
    .map(({ content }) => (typeof content === 'string' ? content : textOfParts(content)))
}

/** What the caller answers to calls at the end of the context. */
export function lastOutputs(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.slice(items.findLastIndex(({ type }) => !answerTypes.test(textOf(type))) + 1)
}

const answerTypes = /^(\w+_call_output|mcp_approval_response)$/

/** The output of a call in words: its text, what a shell printed, or what kind of picture or file it is. */
function describeOutput(output: unknown): string {
  if (typeof output === 'string') return output
  const parts = Array.isArray(output) ? objectsOf(output) : [objectOf(output)]
  const texts = parts.map(({ type, text, stdout, stderr }) => {
    if (typeof stdout === 'string') return `${stdout}${textOf(stderr)}`.trim()
    return typeof text === 'string' ? text : textOf(type).replace(/^(input|computer)_/, 'a ')
  })
  return texts.join(' ')
}
