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
