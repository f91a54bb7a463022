import { responseStates, type ResponseState } from './response-object.ts'
import { field, flag, list, object, text, whole, type Endpoint, type Field, type Fields } from './field.ts'

/** The long and the short side, known from public practice (wire notes, section 7). */
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

/** At most, in public services (wire notes, section 7). */
export const usualVideoSamples = 4

/** Its bytes, or where it is stored (wire notes, section 7). */
const imageFields: Fields = {
  bytesBase64Encoded: text('the image as base64'),
  gcsUri: text('the image in cloud storage'),
  mimeType: text('type of the image'),
}

/** In the forms of both public services (wire notes, section 7). */
const videoFields: Fields = {
  uri: text('a video that the gateway has made'),
  encodedVideo: text('the video as base64'),
  encoding: text('type of the encoded video'),
  gcsUri: text('the video in cloud storage'),
  bytesBase64Encoded: text('the video as base64'),
  mimeType: text('type of the video'),
}

const referenceFields: Fields = {
  image: object('the image', imageFields),
  referenceType: text('what is taken from it', { known: videoReferenceTypes }),
}

const instanceFields: Fields = {
  prompt: text('what to show'),
  image: object('first frame', imageFields),
  lastFrame: object('last frame', imageFields),
  referenceImages: list('reference images', object('reference image', referenceFields)),
  video: object('video to extend', videoFields),
}

/**
 * Endpoint 7 of the specification, which shows no allowed values: only types are enforced. Inner fields beyond its own are from
 * wire notes, section 7.
 */
export const videoOperationEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1beta/models/{model}:predictLongRunning',
  envelope: 'google',
  fields: {
    instances: list(
      'what to generate: objects with a prompt and reference images',
      object('one order', instanceFields),
      { required: true, minLength: 1 },
    ),
    parameters: object(
      'how to generate it',
      {
        aspectRatio: text('aspect ratio', { known: ['16:9', '9:16'] }),
        durationSeconds: whole('duration in seconds', { known: ['4', '6', '8'] }),
        sampleCount: whole('number of videos', { known: ['1', '2', '3', '4'] }),
        resolution: text('resolution', { known: Object.keys(videoResolutions) }),
        negativePrompt: text('what not to show'),
        personGeneration: text('whether people may be shown', {
          known: ['dont_allow', 'allow_adult', 'allow_all'],
        }),
        enhancePrompt: flag('let the gateway rewrite the prompt'),
        generateAudio: flag('generate audio as well'),
        seed: whole('seed for repeatable results'),
        fps: whole('frames per second'),
        compressionQuality: text('compression', { known: ['optimized', 'lossless'] }),
        resizeMode: text('how images are fitted', { known: ['pad', 'crop'] }),
        storageUri: text('where the gateway stores the videos'),
        pubsubTopic: text('Pub/Sub topic for the progress messages of the gateway'),
      },
      { required: true },
    ),
  },
  rules: [],
}

function promptField(about: string): Field {
  return text(about, { required: true, minLength: 1, maxLength: maxVideoPromptLength })
}

/** `POST /v1/videos`, which the specification does not show; fields from wire notes, "Videos". */
export const videoCreateEndpoint: Endpoint = {
  name: 'video create',
  method: 'POST',
  path: '/v1/videos',
  envelope: 'openai',
  fields: {
    model: text('video model', { minLength: 1 }),
    prompt: promptField('what to show'),
    seconds: field(['string', 'number'], 'duration in seconds', { known: ['4', '8', '12'] }),
    size: text('width and height in pixels', { values: ['720x1280', '1280x720', '1024x1792', '1792x1024'] }),
    input_reference: field(['string', 'object'], 'image that the video starts from'),
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
    model: text('video remix model', { required: true, minLength: 1 }),
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

/** The states of a video (specification, "States and transitions"). */
export const videoStates = ['pending', 'in_progress', 'completed', 'failed'] as const
export type VideoState = (typeof videoStates)[number]

export const jobStates: readonly (VideoState | ResponseState)[] = [
  ...new Set([...videoStates, ...responseStates]),
]

/** What gateways and relays send for each state, in lower case with underscores (quirk 18). */
const words: Readonly<Record<VideoState, string>> = {
  pending: 'pending queued submitted not_start not_started created accepted waiting scheduled',
  in_progress: 'in_progress inprogress processing running started generating rendering active',
  completed: 'completed complete succeeded succeed success successful done finished',
  failed: 'failed failure fail error cancelled canceled expired rejected blocked aborted timeout',
}

/** In any letter case; an unknown name means a running job (fault F2). */
export function videoStateOf(word: string): VideoState | undefined {
  const name = normaliseState(word)
  return videoStates.find((state) => words[state].split(' ').includes(name))
}

/** Without letter case, blanks, and the prefix of an enumeration. */
export function normaliseState(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^.*status_|^.*state_/, '')
}

const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'incomplete'])

export function isFinal(state: string): boolean {
  return finalStates.has(state)
}

/** It identifies an operation, whose name is path-like (specification). The id of a video has no slash. */
export function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}
