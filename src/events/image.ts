import {
  oneOf,
  anything,
  count,
  countOrNull,
  define,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  version,
  type Infer,
} from './output-schema.ts'
import { cost } from './cost.ts'
import { failureFields, file, mismatches, savedFileFields, usageFields, verified, warnings } from './text.ts'

/** An image that was saved and checked. */
export type SavedImage = Infer<typeof image.schema>
const image = define(
  'image',
  object({
    ...savedFileFields,
    format: text('png, jpeg, webp, gif, the word of another media type, or bin, from its bytes'),
    width: countOrNull('in pixels; null where the header cannot be read'),
    height: countOrNull('in pixels; null where the header cannot be read'),
    revised_prompt: textOrNull('the prompt as the gateway changed it'),
    verified,
    existing: flag('whether the file was there already (--skip-existing); otherwise this call made it'),
  }),
)

/** Token counts of images (specification, "Image result"). */
export type ImageUsage = Infer<typeof imageUsage.schema>
const imageUsage = define(
  'image_usage',
  object({
    ...usageFields,
    input_image_tokens: countOrNull('tokens of the input that are of pictures'),
    input_text_tokens: countOrNull('tokens of the input that are of the prompt'),
  }),
)

/** A result that was not downloaded (`--no-download`). */
const imageLink = define(
  'image_link',
  object({
    index: count('number of the image'),
    url: text('where it can be fetched'),
    expires_at: count('until when, in Unix seconds'),
  }),
)

/** One of several images that could not be saved. */
const imageFailure = define('image_failure', object(failureFields('image')))

export const imageDefinitions = [image, imageUsage, imageLink, imageFailure] as const

const numbered = {
  index: count('number of the image'),
  count: count('how many images were asked for'),
}

/** Events while images are generated and saved. Images are numbered from 1. */
export const imageEvents = {
  'upload-progress': { sent: count('bytes that were sent'), total: count('bytes in all') },
  /** A preview of an image in progress; it has a file only with `--save-partials`. */
  'image-partial': {
    ...numbered,
    partial: count('index of the preview, from 0 as the gateway counts'),
    partials: countOrNull('how many previews of each image were asked for'),
    file: orNull(file.reference, 'the file, if it was kept'),
  },
  'image-save': { ...numbered, file: image.reference },
  'image-link': { link: imageLink.reference },
  'image-fail': { failure: imageFailure.reference },
}

/** The document of the image commands. */
export type ImageDocument = Infer<typeof imageDocument>
export const imageDocument = object({
  version,
  command: oneOf(['image create', 'image edit'], 'the command that ran'),
  model: textOrNull('the requested model; null when the gateway chooses'),
  files: list(image.reference, 'images that were saved'),
  usage: orNull(imageUsage.reference, 'tokens, where the gateway reports them'),
  cost,
  request_id: textOrNull('id of the request'),
  response: anything("the gateway's own object, without the base64"),
  partials: list(file.reference, 'previews that were kept (--save-partials)'),
  links: list(imageLink.reference, 'results that were not downloaded (--no-download)'),
  failures: list(imageFailure.reference, 'images that could not be saved'),
  mismatches,
  warnings,
})
