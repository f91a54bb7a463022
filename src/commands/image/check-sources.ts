import type { FamilyId } from '../../contract/families.ts'
import { maskLimits, sourceLimits, type SourceLimits } from '../../contract/image-files.ts'
import { readContainer } from '../../files/container-end.ts'
import type { ImageSource } from './source.ts'

/**
 * What is wrong with the pictures of an edit (specification, Limits), each a sentence naming the flag.
 * Type, dimensions and transparency come from the files' own bytes, never from their names.
 * @param family undefined for a model of no known family: then only the rules for every model hold
 */
export async function sourceProblems(
  images: readonly ImageSource[],
  mask: ImageSource | undefined,
  family: FamilyId | undefined,
): Promise<string[]> {
  const limits: SourceLimits | undefined =
    family !== undefined && Object.hasOwn(sourceLimits, family)
      ? sourceLimits[family as keyof typeof sourceLimits]
      : undefined
  return [
    ...(limits !== undefined && images.length > limits.maxCount
      ? [`--image may be given ${times(limits.maxCount)} for ${family}, not ${images.length} times.`]
      : []),
    ...images.flatMap((image) => imageProblems(image, limits, family)),
    ...(mask === undefined ? [] : await maskProblems(mask, images[0])),
  ]
}

function times(count: number): string {
  return count === 1 ? 'once' : `at most ${count} times`
}

function imageProblems(image: ImageSource, limits: SourceLimits | undefined, family?: FamilyId): string[] {
  if (image.info === undefined)
    return [`${named(image)} is not a picture that can be read (${image.mediaType}).`]
  if (limits === undefined) return []
  const { width, height } = image.info
  return [
    ...(limits.mediaTypes.includes(image.mediaType)
      ? []
      : [`${named(image)} is ${image.mediaType}; ${family} takes ${limits.mediaTypes.join(', ')}.`]),
    ...sizeProblem(image, limits.below, family ?? ''),
    ...(limits.square && width !== height
      ? [`${named(image)} is ${width}x${height}; ${family} takes only square pictures.`]
      : []),
  ]
}

async function maskProblems(mask: ImageSource, first: ImageSource | undefined): Promise<string[]> {
  if (mask.info === undefined || !maskLimits.mediaTypes.includes(mask.mediaType as 'image/png')) {
    return [`${named(mask)} must be a PNG, not ${mask.mediaType}.`]
  }
  const { width, height, hasAlpha } = mask.info
  const other = first?.info
  return [
    ...sizeProblem(mask, maskLimits.below, 'a mask'),
    ...(await wholenessProblem(mask)),
    ...(hasAlpha ? [] : [`${named(mask)} has no alpha channel, which marks what is to be edited.`]),
    ...(other === undefined || (other.width === width && other.height === height)
      ? []
      : [
          `${named(mask)} is ${width}x${height}; the first --image is ${other.width}x${other.height}, and both must be the same.`,
        ]),
  ]
}

/** A mask has to be a valid PNG, and is small enough to be read for that; one that is too large is refused anyway. */
async function wholenessProblem(mask: ImageSource): Promise<string[]> {
  if (mask.bytes >= maskLimits.below) return []
  const container = readContainer('png')
  for await (const chunk of mask.open()) container.add(chunk)
  return container.integrity().state === 'whole'
    ? []
    : [`${named(mask)} is not whole: the PNG data ends too early.`]
}

function sizeProblem(image: ImageSource, below: number, whose: string): string[] {
  return image.bytes < below
    ? []
    : [`${named(image)} has ${image.bytes} bytes; ${whose} must be smaller than ${below / 1_000_000} MB.`]
}

function named({ flag, label }: ImageSource): string {
  return `${flag} ${JSON.stringify(label.length > 100 ? `${label.slice(0, 97)}…` : label)}`
}
