import {
  askedFor,
  chooseCalls,
  countJson,
  countTokens,
  mediaTokens,
  scenarios,
  textOfParts,
  type TextRequest,
  type ToolCall,
} from '../answer/answer.ts'
import type { Budget } from '../budget.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, numberOf, objectOf, textOf, isObject, objectsOf } from '../json-value.ts'
import type { SandboxModel } from '../models.ts'
import { scenarioHeader, type SandboxRequest } from '../request.ts'

/**
 * Parses a request to create a response.
 * @param items the whole context: the conversation so far and the input
 */
export function readRequest(
  request: SandboxRequest,
  items: readonly JsonObject[],
  model: SandboxModel,
): TextRequest {
  const { body, budget } = request
  const { content } = items.findLast((item) => item['role'] === 'user') ?? {}
  const prompt = typeof content === 'string' ? content : textOfParts(content)
  const outputs = items.slice(items.findLastIndex((item) => !isToolOutput(item)) + 1)
  const format = objectOf(objectOf(body['text'])['format'])
  const kind = textOf(format['type'])
  const { effort, summary } = objectOf(body['reasoning'])
  return {
    seed: [...request.seed, model.id],
    prompt,
    scenario: askedFor(scenarios, scenarioHeader(request), prompt) ?? model.scenario,
    format: kind === 'json_schema' || kind === 'json_object' ? 'json' : 'text',
    schema: kind === 'json_schema' ? format['schema'] : undefined,
    calls: callsOf(body, { prompt, hasOutput: outputs.length > 0, budget }),
    toolOutputs: outputs.map(({ output }) =>
      typeof output === 'string' ? output : JSON.stringify(output ?? null),
    ),
    thinks: typeof summary === 'string' || (typeof effort === 'string' && effort !== 'none'),
    maxTokens: numberOf(body['max_output_tokens']),
    stopSequences: [],
  }
}

/**
 * The tool that the choice forces, or those that it leaves to the prompt.
 * @throws RequestProblem 400 when the forced tool was not declared, or the budget is spent
 */
function callsOf(
  { tools, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject,
  situation: { prompt: string; hasOutput: boolean; budget: Budget },
): readonly ToolCall[] {
  const declared = objectsOf(tools).flatMap((tool): ToolCall[] => {
    const name = textOf(tool['name'])
    if (tool['type'] === 'function') return [{ name, parameters: tool['parameters'] ?? { type: 'object' } }]
    return tool['type'] === 'custom' ? [{ name, parameters: undefined, custom: true }] : []
  })
  const byMode = (mode: unknown, some: readonly ToolCall[]) =>
    chooseCalls(mode === 'none' || mode === 'required' ? mode : 'auto', some, situation)
  const chosen = () => {
    if (!isObject(choice)) return byMode(choice, declared)
    if (choice['type'] !== 'allowed_tools') return forcedCalls(choice, declared)
    const names = new Set(objectsOf(choice['tools']).map((tool) => textOf(tool['name'])))
    const allowed = declared.filter(({ name }) => names.has(name))
    return byMode(choice['mode'], allowed)
  }
  return parallel === false ? chosen().slice(0, 1) : chosen()
}

function forcedCalls({ type, name }: JsonObject, declared: readonly ToolCall[]): readonly ToolCall[] {
  if (typeof name !== 'string' || (type !== 'function' && type !== 'custom')) return []
  const call = declared.find((tool) => tool.name === name)
  if (call !== undefined) return [call]
  throw new RequestProblem(400, `Tool choice '${name}' not found in 'tools' parameter.`, {
    param: 'tool_choice',
    code: 'invalid_value',
  })
}

/** `input` (and `prompt`, where there is no input) as a list of items. */
export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

function isToolOutput({ type }: JsonObject): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}

export function countItem(item: JsonObject): number {
  const { content } = item
  if (typeof content === 'string') return countTokens(content)
  if (!Array.isArray(content)) return countJson(item)
  return objectsOf(content).reduce((sum, part) => sum + countPart(part), 0)
}

function countPart({ type, text, refusal }: JsonObject): number {
  if (typeof text === 'string') return countTokens(text)
  if (typeof refusal === 'string') return countTokens(refusal)
  return textOf(type).startsWith('input_') ? mediaTokens : 0
}
