import type { Budget } from '../budget.ts'

/** What can be asked of the sandbox besides a plain answer. */
export const scenarios = [
  'refusal',
  'block',
  'length',
  'failure',
  'error',
  'empty',
  'long',
  // Images only: one image fewer than asked for; the final image before its partial ones.
  'fewer',
  'early',
] as const
export type Scenario = (typeof scenarios)[number]

/**
 * The scenario a request asks for: by the header `x-sandbox-scenario`, by a word of the prompt such as
 * `sandbox:refusal`, or by the model's name.
 */
export function scenarioOf(
  header: string | undefined,
  prompt: string,
  ofModel: Scenario | undefined,
): Scenario | undefined {
  return askedFor(scenarios, header, prompt) ?? ofModel
}

/** The scenario of a list that the header or a word of the prompt asks for. */
export function askedFor<Name extends string>(
  names: readonly Name[],
  header: string | undefined,
  prompt: string,
): Name | undefined {
  const asked = header ?? /\bsandbox:([a-z]+)\b/.exec(prompt)?.[1]
  return names.find((name) => name === asked)
}

/** So many characters of a prompt are searched at the cost of one. */
const searchedAtOnce = 20

/**
 * Whether a prompt names a tool.
 * @throws RequestProblem when the budget is spent: both may be long, and the tools many
 */
export function isNamed(tool: string, prompt: string, budget: Budget): boolean {
  budget.spend(1 + prompt.length / searchedAtOnce)
  return tool !== '' && prompt.includes(tool)
}
