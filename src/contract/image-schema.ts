import type { ImageDocument, ImageEvent, ImageFailure, ImageLink, SavedImage } from './image-event.ts'
import {
  anything,
  count,
  countOrNull,
  list,
  object,
  savedFileFields,
  text,
  textOrNull,
  verified,
  type JsonSchema,
} from './json-schema.ts'
import { outputVersion } from './output-event.ts'

const file: JsonSchema = { $ref: '#/$defs/file' }
const fileOrNull: JsonSchema = { oneOf: [file, { type: 'null' }], description: 'the file, if it was kept' }

/** Definitions that the image documents and events refer to. */
export const imageDefinitions = {
  image: object<SavedImage>({
    ...savedFileFields,
    format: text('png, jpeg, webp, gif, or the word of another media type, from its bytes'),
    width: countOrNull('in pixels; null where the header cannot be read'),
    height: countOrNull('in pixels; null where the header cannot be read'),
    revised_prompt: textOrNull('the prompt as the gateway changed it'),
    verified,
  }),
  image_link: object<ImageLink>({
    index: count('number of the image'),
    url: text('where it can be fetched'),
    expires_at: count('until when, in Unix seconds'),
  }),
  image_failure: object<ImageFailure>({
    index: count('number of the image'),
    code: text('a stable word'),
    message: text('what went wrong'),
    rescued: textOrNull('where it is instead, when it came and could not be written where it belongs'),
  }),
} as const

const reference = (name: keyof typeof imageDefinitions): JsonSchema => ({ $ref: `#/$defs/${name}` })

export const imageDocumentProperties: Readonly<Record<keyof ImageDocument, JsonSchema>> = {
  version: { const: outputVersion, description: 'version of this description' },
  command: text('the command that ran'),
  model: text('the model that was asked'),
  files: list(reference('image'), 'images that were saved'),
  usage: {
    oneOf: [{ $ref: '#/$defs/usage' }, { type: 'null' }],
    description: 'tokens, where the gateway tells',
  },
  request_id: textOrNull('id of the request'),
  response: anything("the gateway's own object, without the base64"),
  partials: list(file, 'previews that were kept (--save-partials)'),
  links: list(reference('image_link'), 'results that were not downloaded (--no-download)'),
  failures: list(reference('image_failure'), 'images that could not be had'),
  warnings: list({ type: 'string' }, 'what was odd'),
}

type EventFields<Type extends ImageEvent['type']> = Omit<Extract<ImageEvent, { type: Type }>, 'type'>

/** Every event of the image commands, with every field: the compiler compares both with `ImageEvent`. */
export const imageEventFields: {
  readonly [Type in ImageEvent['type']]: Readonly<Record<keyof EventFields<Type>, JsonSchema>>
} = {
  'upload-progress': { sent: count('bytes that were sent'), total: count('bytes in all') },
  'image-partial': {
    index: count('number of the image'),
    partial: count('number of the preview'),
    file: fileOrNull,
  },
  'image-save': { index: count('number of the image'), file: reference('image') },
  'image-link': { link: reference('image_link') },
  'image-fail': { failure: reference('image_failure') },
}
