import type { PlannedCall } from '../answer/answer.ts'
import { isNamed } from '../answer/scenario.ts'
import type { Budget } from '../budget.ts'
import { RequestProblem } from '../http/problem.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, objectsOf, textOf } from '../json-value.ts'

/**
 * Which tools the answer calls: the forced one, any when one is required, else those that the prompt names.
 * @param hasOutput the input ends with a tool's output, so the answer speaks about that
 * @throws RequestProblem 400 when the forced tool was not declared, or the budget is spent
 */
export function chooseCalls(
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
