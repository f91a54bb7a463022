interface NumberedImage {
  /** From 1. */
  readonly index: number
  /** How many images were asked for. */
  readonly count: number
}

/** An image in messages: `image 1 of 3`, or `image 1` for the only one and for one more than asked for. */
export function imageLabel({ index, count }: NumberedImage): string {
  return count > 1 && index <= count ? `image ${index} of ${count}` : `image ${index}`
}

interface NumberedPreview {
  /** From 0. */
  readonly partial: number
  /** How many previews of the image were asked for; null if that is unknown. */
  readonly partials: number | null
}

/** A preview in messages, counted from 1: `preview 1 of 2`. */
export function previewLabel({ partial, partials }: NumberedPreview): string {
  const number = partial + 1
  return partials !== null && number <= partials ? `preview ${number} of ${partials}` : `preview ${number}`
}
