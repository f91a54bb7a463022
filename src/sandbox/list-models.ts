import { families } from '../contract/families.ts'
import type { JsonObject } from './json-value.ts'
import { textModels } from './models.ts'

const imageModels = families.filter(({ kind }) => kind === 'image').map(({ id }) => id)

/** `GET /v1/models` in OpenAI's shape. */
export function modelList(): JsonObject {
  return {
    object: 'list',
    data: [...textModels.map(({ id }) => id), ...imageModels].map((id) => ({
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
    models: textModels.map(({ id, about, contextWindow }) => ({
      name: `models/${id}`,
      displayName: id,
      description: about,
      inputTokenLimit: contextWindow,
      supportedGenerationMethods: ['generateContent'],
    })),
  }
}
