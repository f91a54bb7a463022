import { families } from '../contract/families.ts'
import type { JsonObject } from './json-value.ts'
import { textModels, videoModels } from './models.ts'

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
