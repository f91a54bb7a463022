import type { Family, FamilyFields, SourceLimits } from './field.ts'
import type { SizeRule } from './size-rule.ts'

/** Megabytes as the specification's limits count them. */
const MB = 1_000_000

const sourcesA: SourceLimits = {
  max_count: 16,
  below_bytes: 50 * MB,
  media_types: ['image/png', 'image/webp', 'image/jpeg'],
  square: false,
}

/** What model A and its successors have in common (specification, endpoints 4 and 6). */
const fieldsA = {
  prompt: { maxLength: 32_000 },
  background: { values: ['transparent', 'opaque', 'auto'] },
  output_format: { values: ['png', 'jpeg', 'webp'] },
  quality: { values: ['auto', 'high', 'medium', 'low'] },
  response_format: false,
  size: { values: ['1024x1024', '1536x1024', '1024x1536', 'auto'] },
} as const satisfies FamilyFields

const createA: FamilyFields = { ...fieldsA, moderation: { values: ['low', 'auto'] }, style: false }
const editA: FamilyFields = { ...fieldsA, input_fidelity: { values: ['high', 'low'] } }

/** Fields that the specification has for model A only. */
const onlyA = {
  background: false,
  moderation: false,
  output_compression: false,
  output_format: false,
} as const satisfies FamilyFields

/** Model A's fields on an edit; `stream` is not among them. */
const { moderation: _, ...onlyAOnEdit } = onlyA

const responseFormat = { values: ['url', 'b64_json'] } as const

const fieldsB = {
  prompt: { maxLength: 1_000 },
  quality: { values: ['auto', 'standard'] },
  response_format: responseFormat,
  size: { values: ['256x256', '512x512', '1024x1024'] },
} as const satisfies FamilyFields

/** The sizes of gpt-image-2 (wire notes, "Images"). */
const sizes2: SizeRule = {
  multiple_of: 16,
  max_ratio: 3,
  max_edge: 3840,
  min_pixels: 655_360,
  max_pixels: 8_294_400,
}
const size2 = { size: { values: ['auto'], size: sizes2 } } as const satisfies FamilyFields

/** The first levels are those of model A. */
const quality25 = {
  quality: { values: ['auto', 'max', 'xhigh', 'high', 'medium', 'low'] },
} as const satisfies FamilyFields

const table = [
  {
    id: 'image-model-a',
    kind: 'image',
    about: 'current image model',
    endpoints: { 'image create': createA, 'image edit': editA },
    sources: sourcesA,
  },
  {
    id: 'image-model-a-mini',
    kind: 'image',
    about: 'smaller variant of the current image model',
    endpoints: { 'image create': createA, 'image edit': { ...editA, input_fidelity: false } },
    sources: sourcesA,
  },
  {
    id: 'image-model-b',
    kind: 'image',
    about: 'legacy image model',
    endpoints: {
      'image create': { ...onlyA, ...fieldsB, stream: false, style: false },
      'image edit': { ...onlyAOnEdit, ...fieldsB, input_fidelity: false },
    },
    sources: { max_count: 1, below_bytes: 4 * MB, media_types: ['image/png'], square: true },
  },
  {
    id: 'image-model-c',
    kind: 'image',
    about: 'second legacy image model',
    endpoints: {
      'image create': {
        ...onlyA,
        prompt: { maxLength: 4_000 },
        n: { max: 1 },
        quality: { values: ['auto', 'hd', 'standard'] },
        response_format: responseFormat,
        size: { values: ['1024x1024', '1792x1024', '1024x1792'] },
        stream: false,
        style: { values: ['vivid', 'natural'] },
      },
    },
  },
  {
    id: 'video-model-remix',
    kind: 'video',
    about: 'video remix model',
    endpoints: { 'video create': {}, 'video remix': {} },
  },
  {
    id: 'gpt-image-2',
    kind: 'image',
    about: 'image model with any size within a rule',
    endpoints: { 'image create': { ...createA, ...size2 }, 'image edit': { ...editA, ...size2 } },
    sources: sourcesA,
  },
  {
    id: 'gpt-image-2.5',
    kind: 'image',
    about: 'its successors, with more levels of quality',
    endpoints: {
      'image create': { ...createA, ...size2, ...quality25 },
      'image edit': { ...editA, ...size2, ...quality25 },
    },
    sources: sourcesA,
  },
] as const satisfies readonly Family[]

export type FamilyId = (typeof table)[number]['id']

/** Every family: those of the specification, in its order, then those of public models that came later. */
export const families: readonly Family[] = table

export function familyCalled(id: FamilyId): Family
export function familyCalled(id: string): Family | undefined
export function familyCalled(id: string): Family | undefined {
  return families.find((family) => family.id === id)
}
