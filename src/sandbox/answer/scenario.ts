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
  const asked = header ?? /\bsandbox:([a-z]+)\b/.exec(prompt)?.[1]
  return scenarios.find((scenario) => scenario === asked) ?? ofModel
}
