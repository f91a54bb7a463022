import type { Endpoint, Field, Fields } from './field.ts'

/** Known from public practice (wire notes, section 7); gateways may take others. The long and the short side, in pixels. */
export const videoResolutions: Readonly<Record<string, readonly [number, number]>> = {
  '720p': [1280, 720],
  '1080p': [1920, 1080],
  '4k': [3840, 2160],
}

/** Characters of the prompt of a Video (wire notes, section 3). */
export const maxVideoPromptLength = 32_000

/** How long a result can be fetched after its completion (wire notes, "Videos"). */
export const videoLifetimeMinutes = 60

/** The page length of a list of videos (wire notes, "Videos"). */
export const videoListLimit = { default: 20, max: 100 } as const

/** What a reference image is used for (wire notes, section 7). */
export const videoReferenceTypes = ['asset', 'style'] as const

/** How many videos public services make per operation, at most (wire notes, section 7); gateways may make more. */
export const usualVideoSamples = 4

/** An image inside an instance: its bytes, or where it is stored (wire notes, section 7). */
const imageFields: Fields = {
  bytesBase64Encoded: { type: 'string', about: 'the image as base64' },
  gcsUri: { type: 'string', about: 'the image in cloud storage' },
  mimeType: { type: 'string', about: 'type of the image' },
}

/** A video inside an instance, in the forms of both public services (wire notes, section 7). */
const videoFields: Fields = {
  uri: { type: 'string', about: 'a video that the gateway has made' },
  encodedVideo: { type: 'string', about: 'the video as base64' },
  encoding: { type: 'string', about: 'type of the encoded video' },
  gcsUri: { type: 'string', about: 'the video in cloud storage' },
  bytesBase64Encoded: { type: 'string', about: 'the video as base64' },
  mimeType: { type: 'string', about: 'type of the video' },
}

const referenceFields: Fields = {
  image: { type: 'object', fields: imageFields, about: 'the image' },
  referenceType: { type: 'string', known: videoReferenceTypes, about: 'what is taken from it' },
}

const instanceFields: Fields = {
  prompt: { type: 'string', about: 'what to show' },
  image: { type: 'object', fields: imageFields, about: 'first frame' },
  lastFrame: { type: 'object', fields: imageFields, about: 'last frame' },
  referenceImages: {
    type: 'array',
    items: { type: 'object', about: 'reference image', fields: referenceFields },
    about: 'reference images',
  },
  video: { type: 'object', fields: videoFields, about: 'video to extend' },
}

/**
 * Endpoint 7 of the specification, which shows no allowed values for the parameters: only their types are enforced.
 * Inner fields beyond its own are from wire notes, section 7.
 */
export const videoOperationEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1beta/models/{model}:predictLongRunning',
  envelope: 'google',
  fields: {
    instances: {
      type: 'array',
      required: true,
      minLength: 1,
      items: { type: 'object', about: 'one order', fields: instanceFields },
      about: 'what to generate: objects with a prompt and reference images',
    },
    parameters: {
      type: 'object',
      required: true,
      about: 'how to generate it',
      fields: {
        aspectRatio: { type: 'string', known: ['16:9', '9:16'], about: 'aspect ratio' },
        durationSeconds: { type: 'integer', known: ['4', '6', '8'], about: 'duration in seconds' },
        sampleCount: { type: 'integer', known: ['1', '2', '3', '4'], about: 'number of videos' },
        resolution: { type: 'string', known: Object.keys(videoResolutions), about: 'resolution' },
        negativePrompt: { type: 'string', about: 'what not to show' },
        personGeneration: {
          type: 'string',
          known: ['dont_allow', 'allow_adult', 'allow_all'],
          about: 'whether people may be shown',
        },
        enhancePrompt: { type: 'boolean', about: 'let the gateway rewrite the prompt' },
        generateAudio: { type: 'boolean', about: 'generate audio as well' },
        seed: { type: 'integer', about: 'seed for repeatable results' },
        fps: { type: 'integer', about: 'frames per second' },
        compressionQuality: { type: 'string', known: ['optimized', 'lossless'], about: 'compression' },
        resizeMode: { type: 'string', known: ['pad', 'crop'], about: 'how images are fitted' },
        storageUri: { type: 'string', about: 'where the gateway stores the videos' },
        pubsubTopic: { type: 'string', about: 'Pub/Sub topic for the progress messages of the gateway' },
      },
    },
  },
  rules: [],
}

function promptField(about: string): Field {
  return { type: 'string', required: true, minLength: 1, maxLength: maxVideoPromptLength, about }
}

/** `POST /v1/videos`, which the specification does not show; fields from wire notes, "Videos". */
export const videoCreateEndpoint: Endpoint = {
  name: 'video create',
  method: 'POST',
  path: '/v1/videos',
  envelope: 'openai',
  fields: {
    model: { type: 'string', minLength: 1, about: 'video model' },
    prompt: promptField('what to show'),
    seconds: { type: ['string', 'number'], known: ['4', '8', '12'], about: 'duration in seconds' },
    size: {
      type: 'string',
      values: ['720x1280', '1280x720', '1024x1792', '1792x1024'],
      about: 'width and height in pixels',
    },
    input_reference: { type: ['string', 'object'], about: 'image that the video starts from' },
  },
  rules: [],
}

/** Endpoint 3 of the specification; the prompt's length is from wire notes, section 3. */
export const videoRemixEndpoint: Endpoint = {
  name: 'video remix',
  method: 'POST',
  path: '/v1/videos/{video_id}/remix',
  envelope: 'openai',
  fields: {
    model: { type: 'string', required: true, minLength: 1, about: 'video remix model' },
    prompt: promptField('the change; one clear adjustment works best'),
  },
  rules: [],
}

/** Endpoint 5 of the specification. */
export const videoStatusEndpoint: Endpoint = {
  method: 'GET',
  path: '/v1/videos/{video_id}',
  envelope: 'openai',
  fields: {},
  rules: [],
}
