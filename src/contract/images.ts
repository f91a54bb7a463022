import { familyCalled } from './families.ts'
import { flag, text, whole, type Endpoint, type Field, type Fields, type Rule } from './field.ts'

/** Result URLs can be fetched for this long after generation (specification, Limits). */
export const urlLifetimeMinutes = 60

export const maxImages = 10

export const maxPartialImages = 3

function word(known: readonly string[], preset: string, about: string): Field {
  return text(about, { nullable: true, known, default: preset })
}

/** Of both endpoints, for every model. The words that some family takes are suggested; the families enforce theirs. */
const commonFields: Fields = {
  background: word(['transparent', 'opaque', 'auto'], 'auto', 'background of the image'),
  n: whole('number of images', { nullable: true, min: 1, max: maxImages, default: 1 }),
  output_compression: whole('compression in percent, for webp and jpeg', {
    nullable: true,
    min: 0,
    max: 100,
    default: 100,
  }),
  output_format: word(['png', 'jpeg', 'webp'], 'png', 'format of the image'),
  partial_images: whole('partial images while streaming; 0 means one image in a single event', {
    min: 0,
    max: maxPartialImages,
    default: 0,
  }),
  response_format: word(['url', 'b64_json'], 'url', 'how the image is returned'),
  stream: flag('send server-sent events', { nullable: true, default: false }),
  user: text('end-user identifier for abuse monitoring'),
}

const rules: readonly Rule[] = [
  {
    kind: 'requires',
    field: 'partial_images',
    when: [1, 2, 3],
    other: 'stream',
    values: [true],
    about: 'partial images come only while streaming',
  },
]

const familyRules: readonly Rule[] = [
  {
    kind: 'requires',
    field: 'background',
    when: ['transparent'],
    other: 'output_format',
    values: ['png', 'webp'],
    mayBeMissing: true,
    about: 'a transparent background needs the output format png or webp',
  },
  {
    kind: 'requires',
    field: 'output_compression',
    other: 'output_format',
    values: ['webp', 'jpeg'],
    about: 'output_compression applies to the output formats webp and jpeg only',
  },
]

export const imageCreateEndpoint: Endpoint = {
  name: 'image create',
  method: 'POST',
  path: '/v1/images/generations',
  envelope: 'openai',
  fields: {
    prompt: text('what to draw', { required: true, minLength: 1, maxLength: 32_000 }),
    model: text('image model', { nullable: true }),
    ...commonFields,
    moderation: word(['low', 'auto'], 'auto', 'strictness of moderation'),
    quality: word(
      ['auto', 'max', 'xhigh', 'high', 'medium', 'low', 'hd', 'standard'],
      'auto',
      'quality of the image',
    ),
    size: word(
      ['1024x1024', '1536x1024', '1024x1536', 'auto', '256x256', '512x512', '1792x1024', '1024x1792'],
      'auto',
      'WIDTHxHEIGHT in pixels, or auto; what a model takes: modelgate models ID',
    ),
    style: word(['vivid', 'natural'], 'vivid', 'style of the image'),
  },
  rules,
  familyRules,
}

/** `image` and `mask` are files and are checked as such. */
export const imageEditEndpoint: Endpoint = {
  name: 'image edit',
  method: 'POST',
  path: '/v1/images/edits',
  envelope: 'openai',
  fields: {
    prompt: text('what to change', { required: true, minLength: 1, maxLength: 32_000 }),
    model: text('image model', { nullable: true }),
    ...commonFields,
    input_fidelity: text('fidelity to the source images', { known: ['high', 'low'], default: 'low' }),
    quality: word(
      ['auto', 'max', 'xhigh', 'high', 'medium', 'low', 'standard'],
      'auto',
      'quality of the image',
    ),
    size: text('WIDTHxHEIGHT in pixels, or auto; what a model takes: modelgate models ID', {
      nullable: true,
      known: ['1024x1024', '1536x1024', '1024x1536', 'auto', '256x256', '512x512'],
    }),
  },
  rules,
  familyRules,
}

/** Of an edit that names no model: B, unless a parameter that only A has is used (specification, endpoint 6, `model`). */
export function defaultEditModel(body: Readonly<Record<string, unknown>>): {
  model: string
  because: string | undefined
} {
  const legacy = familyCalled('image-model-b').endpoints['image edit'] ?? {}
  const special = Object.keys(legacy).find((name) => legacy[name] === false && body[name] !== undefined)
  return special === undefined
    ? { model: 'image-model-b', because: undefined }
    : { model: 'image-model-a', because: special }
}

/** A mask is a PNG with an alpha channel and the dimensions of the first image (specification, Limits). */
export const maskLimits = { below_bytes: 4_000_000, media_types: ['image/png'] } as const
