import type { Scenario } from './answer/answer.ts'
import { familyOf, families } from '../contract/families.ts'
import type { Endpoint } from '../contract/field.ts'
import { RequestProblem } from './http/problem.ts'
import type { JsonObject } from './json-value.ts'

/** A text model of the sandbox. Any other name is served like `sandbox-text`. */
export interface SandboxModel {
  readonly id: string
  readonly about: string
  /** Tokens of input it reads; the sandbox counts one token for every four characters. */
  readonly contextWindow: number
  readonly scenario?: Scenario
}

const standardWindow = 131_072

export const textModels: readonly SandboxModel[] = [
  { id: 'sandbox-text', about: 'answers every prompt', contextWindow: standardWindow },
  { id: 'sandbox-small', about: 'has a small context window', contextWindow: 1024 },
  {
    id: 'sandbox-long',
    about: 'writes thousands of events',
    contextWindow: standardWindow,
    scenario: 'long',
  },
  { id: 'sandbox-refusal', about: 'refuses', contextWindow: standardWindow, scenario: 'refusal' },
  { id: 'sandbox-block', about: 'blocks the prompt', contextWindow: standardWindow, scenario: 'block' },
  { id: 'sandbox-length', about: 'hits the token limit', contextWindow: standardWindow, scenario: 'length' },
  { id: 'sandbox-empty', about: 'generates nothing', contextWindow: standardWindow, scenario: 'empty' },
  { id: 'sandbox-failure', about: 'fails to generate', contextWindow: standardWindow, scenario: 'failure' },
  {
    id: 'sandbox-error',
    about: 'breaks off with an error',
    contextWindow: standardWindow,
    scenario: 'error',
  },
]

/** The model of that name, or one like `sandbox-text` for a name the table does not hold. */
export function textModel(id: string): SandboxModel {
  return textModels.find((model) => model.id === id) ?? { ...textModels[0]!, id }
}

/** The video models of the sandbox, for operations and videos. Any other name is served like it. */
export const videoModels = [{ id: 'sandbox-video', about: 'draws a short video of every prompt' }] as const

/**
 * A model of a family that the specification does not name for the endpoint is turned down; a model of no known
 * family is served by the rules for every model.
 * @throws RequestProblem 400
 */
export function assertServed({ families = {} }: Endpoint, model: string): void {
  const family = familyOf(model)
  if (family === undefined || families[family] !== undefined) return
  throw new RequestProblem(
    400,
    `Invalid 'model': must be of ${Object.keys(families).join(', ')}, not ${model}.`,
    { param: 'model', code: 'invalid_value' },
  )
}

const mediaModels = families.map(({ id }) => id)

/** `GET /v1/models` in OpenAI's shape. */
export function modelList(): JsonObject {
  return {
    object: 'list',
    data: [...[...textModels, ...videoModels].map(({ id }) => id), ...mediaModels].map((id) => ({
      id,
      object: 'model',
      created: 0,
      owned_by: 'sandbox',
    })),
  }
}

/** `GET /v1beta/models` in Google's shape. */
export function modelCatalog(): JsonObject {
  return {
    models: [
      ...textModels.map(({ id, about, contextWindow }) => ({
        ...describe(id, about),
        inputTokenLimit: contextWindow,
        supportedGenerationMethods: ['generateContent'],
      })),
      ...videoModels.map(({ id, about }) => ({
        ...describe(id, about),
        supportedGenerationMethods: ['predictLongRunning'],
      })),
    ],
  }
}

function describe(id: string, about: string): JsonObject {
  return { name: `models/${id}`, displayName: id, description: about }
}
