/** The model families of the specification, by its neutral names in kebab case. */
export type FamilyId =
  | 'image-model-a'
  | 'image-model-a-mini'
  | 'image-model-b'
  | 'image-model-c'
  | 'video-model-remix'

export interface Family {
  readonly id: FamilyId
  readonly kind: 'image' | 'video'
  readonly about: string
  /** Model ids known to belong to it: the stand-in, and the public ids of the same family. */
  readonly models: readonly string[]
}

/** Every family, in the order of the specification. */
export const families: readonly Family[] = [
  {
    id: 'image-model-a',
    kind: 'image',
    about: 'current image model',
    models: ['image-model-a', 'gpt-image-1'],
  },
  {
    id: 'image-model-a-mini',
    kind: 'image',
    about: 'smaller variant of the current image model',
    models: ['image-model-a-mini', 'gpt-image-1-mini'],
  },
  {
    id: 'image-model-b',
    kind: 'image',
    about: 'legacy image model',
    models: ['image-model-b', 'dall-e-2'],
  },
  {
    id: 'image-model-c',
    kind: 'image',
    about: 'second legacy image model',
    models: ['image-model-c', 'dall-e-3'],
  },
  {
    id: 'video-model-remix',
    kind: 'video',
    about: 'video remix model',
    models: ['video-model-remix', 'sora-2'],
  },
]

/**
 * The family of a model: from the user's own map first, then by its known ids. Undefined for any other id: then only
 * the rules for every model apply.
 * @param mapped model ids to family ids, from configuration; an empty text or `none` means no family
 */
export function familyOf(model: string, mapped: Readonly<Record<string, string>> = {}): FamilyId | undefined {
  const known = Object.hasOwn(mapped, model) ? mapped[model] : undefined
  if (known !== undefined) return families.find(({ id }) => id === known)?.id
  return families.find(({ models }) => models.includes(model))?.id
}
