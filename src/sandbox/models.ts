import type { Scenario } from './answer/answer.ts'
import { families } from '../contract/families.ts'
import type { Endpoint } from '../contract/field.ts'
import type { Model } from '../contract/known-models.ts'
import { invalidField } from './http/request-problem.ts'
import type { JsonObject } from './json-value.ts'

/** A text model of the sandbox. Unknown names behave like `sandbox-text`. */
export interface SandboxModel {
  readonly id: string
  readonly about: string
  /** Tokens of input it reads; the sandbox counts one token for every four characters. */
  readonly contextWindow: number
  readonly scenario: Scenario | undefined
}

function model(id: string, about: string, scenario?: Scenario, contextWindow = 131_072): SandboxModel {
  return { id, about, scenario, contextWindow }
}

export const defaultTextModel = model('sandbox-text', 'answers every prompt')

const textModels: readonly SandboxModel[] = [
  defaultTextModel,
  model('sandbox-small', 'has a small context window', undefined, 1024),
  model('sandbox-long', 'writes thousands of events', 'long'),
  model('sandbox-refusal', 'refuses', 'refusal'),
  model('sandbox-block', 'blocks the prompt', 'block'),
  model('sandbox-length', 'hits the token limit', 'length'),
  model('sandbox-empty', 'generates nothing', 'empty'),
  model('sandbox-failure', 'fails to generate', 'failure'),
  model('sandbox-error', 'breaks off with an error', 'error'),
]

/** The model of that name, or one like the default for an unknown name. */
export function textModel(id: string): SandboxModel {
  return textModels.find((known) => known.id === id) ?? { ...defaultTextModel, id }
}

/** The video model of the sandbox, for operations and videos. Unknown names behave like it. */
export const videoModel = { id: 'sandbox-video', about: 'draws a short video of every prompt' } as const

/**
 * Rejects a model of a family that is not for the endpoint. A model of no known family follows the rules for every
 * model.
 * @throws RequestProblem 400
 */
export function assertServed({ name }: Endpoint, { id, family }: Model): void {
  if (name === undefined || family === undefined || family.endpoints[name] !== undefined) return
  const served = families.filter(({ endpoints }) => endpoints[name] !== undefined).map((other) => other.id)
  throw invalidField('model', `must be of ${served.join(', ')}, not ${id}`)
}

/** `GET /v1/models` in OpenAI's shape. */
export function modelList(): JsonObject {
  const ids = [...textModels, videoModel, ...families].map(({ id }) => id)
  return {
    object: 'list',
    data: ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'sandbox' })),
  }
}

/** `GET /v1beta/models` in Google's shape. */
export function modelCatalog(): JsonObject {
  const described = (id: string, about: string, method: string) => {
    return { name: `models/${id}`, displayName: id, description: about, supportedGenerationMethods: [method] }
  }
  return {
    models: [
      ...textModels.map(({ id, about, contextWindow }) => ({
        ...described(id, about, 'generateContent'),
        inputTokenLimit: contextWindow,
      })),
      described(videoModel.id, videoModel.about, 'predictLongRunning'),
    ],
  }
}
