import { type Question, scenarioOf, type PlannedCall, isNamed, countTokens } from '../answer/answer.ts'
import { type JsonObject, numberOf, objectOf, textOf, isObject, objectsOf } from '../json-value.ts'
import type { SandboxModel } from '../models.ts'
import { scenarioHeader, type SandboxRequest } from '../request.ts'
import type { Budget } from '../budget.ts'
import { RequestProblem } from '../http/problem.ts'

/**
 * What a request to create a response asks for.
 * @param items the whole context: the conversation so far and the input
 */
export function readQuestion(
  request: SandboxRequest,
  items: readonly JsonObject[],
  model: SandboxModel,
  seed: number,
): Question {
  const { body, budget } = request
  const prompt = textInItem(items.findLast((item) => item['role'] === 'user') ?? {})
  const outputs = trailingOutputs(items)
  const format = objectOf(objectOf(body['text'])['format'])
  const kind = textOf(format['type'])
  return {
    seed: [seed, model.id],
    prompt,
    scenario: scenarioOf(scenarioHeader(request), prompt, model.scenario),
    format: kind === 'json_schema' || kind === 'json_object' ? 'json' : 'text',
    schema: kind === 'json_schema' ? format['schema'] : undefined,
    calls: chooseCalls(body, prompt, outputs.length > 0, budget),
    toolOutputs: outputs.map(({ output }) =>
      typeof output === 'string' ? output : JSON.stringify(output ?? null),
    ),
    thinks: thinks(objectOf(body['reasoning'])),
    wantsImage: false,
    maxTokens: numberOf(body['max_output_tokens']),
    stopSequences: [],
  }
}

function trailingOutputs(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.slice(items.findLastIndex((item) => !isToolOutput(item)) + 1)
}

function thinks({ effort, summary }: JsonObject): boolean {
  return typeof summary === 'string' || (typeof effort === 'string' && effort !== 'none')
}

/**
 * Which tools the answer calls: the forced one, any when one is required, else those that the prompt names.
 * @param hasOutput the input ends with a tool's output, so the answer speaks about that
 * @throws RequestProblem 400 when the forced tool was not declared, or the budget is spent
 */
function chooseCalls(
  body: JsonObject,
  prompt: string,
  hasOutput: boolean,
  budget: Budget,
): readonly PlannedCall[] {
  const declared = declaredTools(body['tools'])
  const choice = body['tool_choice']
  const calls = isObject(choice)
    ? chosen(choice, declared, prompt, hasOutput, budget)
    : byMode(choice, declared, prompt, hasOutput, budget)
  return body['parallel_tool_calls'] === false ? calls.slice(0, 1) : calls
}

function declaredTools(tools: unknown): PlannedCall[] {
  return objectsOf(tools).flatMap((tool): PlannedCall[] => {
    const name = textOf(tool['name'])
    if (tool['type'] === 'function') return [{ name, parameters: tool['parameters'] ?? { type: 'object' } }]
    return tool['type'] === 'custom' ? [{ name, parameters: undefined, custom: true }] : []
  })
}

function chosen(
  choice: JsonObject,
  declared: readonly PlannedCall[],
  prompt: string,
  hasOutput: boolean,
  budget: Budget,
): readonly PlannedCall[] {
  if (choice['type'] === 'allowed_tools') {
    const names = new Set(objectsOf(choice['tools']).map((tool) => textOf(tool['name'])))
    const allowed = declared.filter(({ name }) => names.has(name))
    return byMode(choice['mode'], allowed, prompt, hasOutput, budget)
  }
  const name = choice['name']
  if (typeof name !== 'string' || (choice['type'] !== 'function' && choice['type'] !== 'custom')) return []
  const call = declared.find((tool) => tool.name === name)
  if (call === undefined) {
    throw new RequestProblem(400, `Tool choice '${name}' not found in 'tools' parameter.`, {
      param: 'tool_choice',
      code: 'invalid_value',
    })
  }
  return [call]
}

function byMode(
  mode: unknown,
  declared: readonly PlannedCall[],
  prompt: string,
  hasOutput: boolean,
  budget: Budget,
): readonly PlannedCall[] {
  if (mode === 'none') return []
  const named = declared.filter(({ name }) => isNamed(name, prompt, budget))
  if (mode === 'required') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}

/** What an image or a file counts, whatever its size. */
const mediaTokens = 258

/** `input` (and `prompt`, where there is no input) as a list of items. */
export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

/** A message's words; empty for any other item. */
function textInItem({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

function isToolOutput({ type }: JsonObject): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}

export function countItem(item: JsonObject): number {
  const { content } = item
  if (typeof content === 'string') return countTokens(content)
  if (!Array.isArray(content)) return countTokens(JSON.stringify(item))
  return objectsOf(content).reduce((sum, part) => sum + countPart(part), 0)
}

function countPart(part: JsonObject): number {
  if (typeof part['text'] === 'string') return countTokens(part['text'])
  if (typeof part['refusal'] === 'string') return countTokens(part['refusal'])
  return isObject(part) && textOf(part['type']).startsWith('input_') ? mediaTokens : 0
}
