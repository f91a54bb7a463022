import { askedFor } from '../answer/scenario.ts'
import { RequestProblem } from '../http/problem.ts'
import { scenarioHeader } from '../request.ts'
import type { SandboxRequest } from '../request.ts'

/** What can be asked of a video job besides a good end: by header, by a word of the prompt, by the model's name. */
export const videoScenarios = [
  // Turned down at once.
  'refusal',
  'block',
  // The job ends as failed, with an error object.
  'failure',
  'error',
  // The result is withheld: all of it, or the last video of several.
  'filtered',
  'fewer',
  // Completed, with nothing in it.
  'empty',
  // Completed, and the result has expired at once.
  'expired',
  // In progress for good.
  'stuck',
  // The progress goes back and forth, and so does the state.
  'backwards',
  // A state that no document knows, and then completion.
  'unknown',
  // States in other words and letter cases, progress as text, times in milliseconds.
  'spelling',
  // HTTP status 202 while the job runs.
  'accepted',
] as const
export type VideoScenario = (typeof videoScenarios)[number]

/**
 * The scenario that a request for a video asks for.
 * @throws RequestProblem 400 when it is a refusal
 */
export function videoScenarioOf(
  request: SandboxRequest,
  prompt: string,
  model: string,
): VideoScenario | null {
  const ofModel = videoScenarios.find((scenario) => model === `sandbox-${scenario}`)
  const scenario = askedFor(videoScenarios, scenarioHeader(request), prompt) ?? ofModel ?? null
  if (scenario !== 'refusal' && scenario !== 'block') return scenario
  throw new RequestProblem(400, '[sandbox] The request was rejected by the safety system.', {
    type: 'video_generation_user_error',
    code: 'moderation_blocked',
  })
}
