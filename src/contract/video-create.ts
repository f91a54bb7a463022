import type { Endpoint } from './field.ts'
import { maxVideoPromptLength } from './videos.ts'

/** A result can be fetched for so long after its completion (wire notes, "Videos"). */
export const videoLifetimeMinutes = 60

/** The page length of a list of videos (wire notes, "Videos"). */
export const videoListLimit = { usual: 20, most: 100 } as const

/** `POST /v1/videos`, which the specification does not show; fields from wire notes, "Videos". */
export const videoCreateEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1/videos',
  envelope: 'openai',
  fields: {
    model: { type: 'string', minLength: 1, about: 'video model' },
    prompt: {
      type: 'string',
      required: true,
      minLength: 1,
      maxLength: maxVideoPromptLength,
      about: 'what to show',
    },
    seconds: { type: ['string', 'number'], known: ['4', '8', '12'], about: 'duration in seconds' },
    size: {
      type: 'string',
      values: ['720x1280', '1280x720', '1024x1792', '1792x1024'],
      about: 'width and height in pixels',
    },
    input_reference: { type: ['string', 'object'], about: 'image that the video starts from' },
  },
  rules: [],
  families: { 'video-model-remix': {} },
}
