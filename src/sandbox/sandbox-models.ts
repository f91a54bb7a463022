import { families } from '../contract/families.ts'
import type { Endpoint } from '../contract/field.ts'
import { knownModels, standIns, type Model } from '../contract/known-models.ts'
import { googleReply, jsonReply, type Reply } from './http/reply.ts'
import { invalidField, RequestProblem } from './http/request-problem.ts'
import type { JsonObject } from './json-value.ts'
import type { Exchange } from './sandbox.ts'

/** The models of a request without one; unknown names behave like them. The videos' one is that of operations, too. */
export const [textModel, videoModel] = ['sandbox-text', 'sandbox-video'] as const

const scenarioModels = 'long refusal block length empty failure error'.split(' ')
const usualWindow = 131_072

/** Tokens of input that each text model reads; the sandbox counts one token for every four characters. */
const textModels = new Map<string, number>([
  [textModel, usualWindow],
  ['sandbox-small', 1024],
  ...scenarioModels.map((scenario) => [`sandbox-${scenario}`, usualWindow] as const),
])

export const contextWindowOf = (model: string) => textModels.get(model) ?? usualWindow

/** Rejects a model of a family that is not for the endpoint; one of no known family follows the rules for every model. */
export function assertServed({ name }: Endpoint, { id, family }: Model): void {
  if (name === undefined || family === undefined || family.endpoints[name] !== undefined) return
  const served = families.filter(({ endpoints }) => endpoints[name] !== undefined).map((other) => other.id)
  throw invalidField('model', `must be of ${served.join(', ')}, not ${id}`)
}

/** Every model that the sandbox has rules or answers of its own for; it answers to any other name as well. */
const listed: readonly string[] = [
  ...textModels.keys(),
  videoModel,
  ...[...knownModels().filter(({ family }) => family !== undefined), ...standIns].map(({ id }) => id),
]

/** In the form of the client that asks, on one page. */
export function listModels({ envelope }: Exchange): Reply {
  if (envelope === 'google') return googleReply({ models: catalog })
  return jsonReply({ object: 'list', data: listed.map(openaiModel) })
}

export function getModel({ envelope, params }: Exchange): Reply {
  const { model: id = '' } = params
  const google = catalog.find(({ name }) => name === `models/${id}`)
  if (envelope === 'google' && google !== undefined) return googleReply(google)
  if (envelope === 'openai' && listed.includes(id)) return jsonReply(openaiModel(id))
  throw new RequestProblem(404, `The model '${id.slice(0, 200)}' does not exist.`, {
    param: 'model',
    code: 'model_not_found',
  })
}

function openaiModel(id: string): JsonObject {
  return { id, object: 'model', created: 0, owned_by: 'sandbox' }
}

/** In Google's form. */
const catalog: readonly JsonObject[] = [
  ...Array.from(textModels, ([id, inputTokenLimit]) => ({
    ...googleModel(id, 'generateContent'),
    inputTokenLimit,
  })),
  googleModel(videoModel, 'predictLongRunning'),
]

function googleModel(id: string, method: string) {
  return { name: `models/${id}`, displayName: id, supportedGenerationMethods: [method] }
}
