import * as f from './fields.ts'
import * as text from './text.ts'

export type SavedImage = f.Infer<typeof image>
const image = f.shape('image', {
  ...text.savedFileFields,
  format: f.text('png, jpeg, webp, gif, the word of another media type, or bin, from its bytes'),
  width: f.countOrNull('in pixels; null where the header cannot be read'),
  height: f.countOrNull('in pixels; null where the header cannot be read'),
  revised_prompt: f.textOrNull('the prompt as the gateway changed it'),
  verified: text.verified,
  existing: f.flag('whether the file was there already (--skip-existing); otherwise this call made it'),
})

export type ImageUsage = f.Infer<typeof imageUsage>
const imageUsage = f.shape('image_usage', {
  ...text.usageFields,
  input_image_tokens: f.countOrNull('tokens of the input that are of pictures'),
  input_text_tokens: f.countOrNull('tokens of the input that are of the prompt'),
})

/** A result that was not downloaded (`--no-download`). */
const imageLink = f.shape('image_link', {
  index: f.count('number of the image'),
  url: f.text('where it can be fetched'),
  expires_at: f.count('until when, in Unix seconds'),
})

const imageFailure = f.shape('image_failure', text.failureFields('image'))

const numbered = {
  index: f.count('number of the image'),
  count: f.count('how many images were asked for'),
}

/** Events while images are generated and saved. Images are numbered from 1. */
export const imageEvents = {
  'upload-progress': { sent: f.count('bytes that were sent'), total: f.count('bytes in all') },
  /** A preview of an image in progress; it has a file only with `--save-partials`. */
  'image-partial': {
    ...numbered,
    partial: f.count('index of the preview, from 0 as the gateway counts'),
    partials: f.countOrNull('how many previews of each image were asked for'),
    file: f.orNull('the file, if it was kept', text.file),
  },
  'image-save': { ...numbered, file: image },
  'image-link': { link: imageLink },
  'image-fail': { failure: imageFailure },
}

export type ImageDocument = f.Infer<typeof imageDocument>
export const imageDocument = f.document(['image create', 'image edit', 'wait'], {
  model: f.textOrNull('the requested model; null when the gateway chooses'),
  files: f.list('images that were saved', image),
  usage: f.orNull('tokens, where the gateway reports them', imageUsage),
  cost: text.cost,
  request_id: f.textOrNull('id of the request'),
  response: f.anything("the gateway's own object, without the base64"),
  partials: f.list('previews that were kept (--save-partials)', text.file),
  links: f.list('results that were not downloaded (--no-download)', imageLink),
  failures: f.list('images that could not be saved', imageFailure),
  mismatches: text.mismatches,
})
