import type { Endpoint, Fields, FamilyFields, Rule } from './field.ts'

/** Result URLs can be fetched for this long after generation (specification, Limits). */
export const urlLifetimeMinutes = 60

/** Maximum number of images per request. */
export const maxImages = 10

/** Maximum number of partial images per image. */
export const maxPartialImages = 3

const backgrounds = ['transparent', 'opaque', 'auto'] as const
const outputFormats = ['png', 'jpeg', 'webp'] as const
const responseFormats = ['url', 'b64_json'] as const

/** Fields of both endpoints, with the widest limits of any family. */
const commonFields: Fields = {
  background: {
    type: 'string',
    nullable: true,
    values: backgrounds,
    default: 'auto',
    about: 'background of the image',
  },
  n: { type: 'integer', nullable: true, min: 1, max: maxImages, default: 1, about: 'number of images' },
  output_compression: {
    type: 'integer',
    nullable: true,
    min: 0,
    max: 100,
    default: 100,
    about: 'compression in percent, for webp and jpeg',
  },
  output_format: {
    type: 'string',
    nullable: true,
    values: outputFormats,
    default: 'png',
    about: 'format of the image',
  },
  partial_images: {
    type: 'integer',
    min: 0,
    max: maxPartialImages,
    default: 0,
    about: 'partial images while streaming; 0 means one image in a single event',
  },
  response_format: {
    type: 'string',
    nullable: true,
    values: responseFormats,
    default: 'url',
    about: 'how the image is returned',
  },
  stream: { type: 'boolean', nullable: true, default: false, about: 'send server-sent events' },
  user: { type: 'string', about: 'end-user identifier for abuse monitoring' },
}

/** `transparent` needs a format that has transparency; compression one that compresses. */
const formatRules: readonly Rule[] = [
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
  {
    kind: 'requires',
    field: 'partial_images',
    when: [1, 2, 3],
    other: 'stream',
    values: [true],
    about: 'partial images come only while streaming',
  },
]

const onlyA = { background: false, output_compression: false, output_format: false } as const

/** Sizes of model A, the only ones that `auto` chooses from. */
export const sizesA = ['1024x1024', '1536x1024', '1024x1536', 'auto'] as const
const sizesB = ['256x256', '512x512', '1024x1024'] as const
const sizesC = ['1024x1024', '1792x1024', '1024x1792'] as const

const createA: FamilyFields = {
  prompt: { maxLength: 32_000 },
  quality: { values: ['auto', 'high', 'medium', 'low'] },
  response_format: false,
  size: { values: sizesA },
  style: false,
}

/** Endpoint 4 of the specification: generate images. */
export const imageCreateEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1/images/generations',
  envelope: 'openai',
  fields: {
    prompt: { type: 'string', required: true, minLength: 1, maxLength: 32_000, about: 'what to draw' },
    model: { type: 'string', nullable: true, about: 'image model' },
    ...commonFields,
    moderation: {
      type: 'string',
      nullable: true,
      values: ['low', 'auto'],
      default: 'auto',
      about: 'strictness of moderation',
    },
    quality: {
      type: 'string',
      nullable: true,
      values: ['auto', 'high', 'medium', 'low', 'hd', 'standard'],
      default: 'auto',
      about: 'quality of the image',
    },
    size: {
      type: 'string',
      nullable: true,
      values: [...sizesA, '256x256', '512x512', '1792x1024', '1024x1792'],
      default: 'auto',
      about: 'size in pixels',
    },
    style: {
      type: 'string',
      nullable: true,
      values: ['vivid', 'natural'],
      default: 'vivid',
      about: 'style of the image',
    },
  },
  rules: formatRules,
  families: {
    'image-model-a': createA,
    'image-model-a-mini': createA,
    'image-model-b': {
      ...onlyA,
      prompt: { maxLength: 1_000 },
      moderation: false,
      quality: { values: ['auto', 'standard'] },
      size: { values: sizesB },
      stream: false,
      style: false,
    },
    'image-model-c': {
      ...onlyA,
      prompt: { maxLength: 4_000 },
      moderation: false,
      n: { max: 1 },
      quality: { values: ['auto', 'hd', 'standard'] },
      size: { values: sizesC },
      stream: false,
    },
  },
}

const editA: FamilyFields = {
  prompt: { maxLength: 32_000 },
  quality: { values: ['auto', 'high', 'medium', 'low'] },
  response_format: false,
  size: { values: sizesA },
}

/** Endpoint 6 of the specification: edit images. `image` and `mask` are files and are checked as such. */
export const imageEditEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1/images/edits',
  envelope: 'openai',
  fields: {
    prompt: { type: 'string', required: true, minLength: 1, maxLength: 32_000, about: 'what to change' },
    model: { type: 'string', nullable: true, about: 'image model' },
    ...commonFields,
    input_fidelity: {
      type: 'string',
      values: ['high', 'low'],
      default: 'low',
      about: 'fidelity to the source images',
    },
    quality: {
      type: 'string',
      nullable: true,
      values: ['auto', 'high', 'medium', 'low', 'standard'],
      default: 'auto',
      about: 'quality of the image',
    },
    size: {
      type: 'string',
      nullable: true,
      values: [...sizesA, '256x256', '512x512'],
      about: 'size in pixels',
    },
  },
  rules: formatRules,
  families: {
    'image-model-a': editA,
    'image-model-a-mini': { ...editA, input_fidelity: false },
    'image-model-b': {
      ...onlyA,
      prompt: { maxLength: 1_000 },
      input_fidelity: false,
      quality: { values: ['auto', 'standard'] },
      size: { values: sizesB },
    },
  },
}

/**
 * The model of an edit that names none: model B, unless a parameter that only model A has is used
 * (specification, endpoint 6, `model`).
 */
export function defaultEditModel(body: Readonly<Record<string, unknown>>): {
  model: string
  because: string | undefined
} {
  const legacy = imageEditEndpoint.families?.['image-model-b'] ?? {}
  const special = Object.keys(legacy).find((name) => legacy[name] === false && body[name] !== undefined)
  return special === undefined
    ? { model: 'image-model-b', because: undefined }
    : { model: 'image-model-a', because: special }
}

/** Megabytes as the specification's limits count them. */
const MB = 1_000_000

/** What may be uploaded for an edit (specification, Limits). */
export interface SourceLimits {
  readonly maxCount: number
  /** Each file must be smaller than this many bytes. */
  readonly below: number
  readonly mediaTypes: readonly string[]
  readonly square: boolean
}

export const sourceLimits: Readonly<
  Record<'image-model-a' | 'image-model-a-mini' | 'image-model-b', SourceLimits>
> = {
  'image-model-a': {
    maxCount: 16,
    below: 50 * MB,
    mediaTypes: ['image/png', 'image/webp', 'image/jpeg'],
    square: false,
  },
  'image-model-a-mini': {
    maxCount: 16,
    below: 50 * MB,
    mediaTypes: ['image/png', 'image/webp', 'image/jpeg'],
    square: false,
  },
  'image-model-b': { maxCount: 1, below: 4 * MB, mediaTypes: ['image/png'], square: true },
}

/** A mask is a PNG with an alpha channel and the dimensions of the first image (specification, Limits). */
export const maskLimits = { below: 4 * MB, mediaTypes: ['image/png'] } as const
