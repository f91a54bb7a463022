/** `image 1 of 3`, or `image 1` for the only one and for one more than asked for. @param image its number, from 1 */
export function imageLabel({ index, count }: { index: number; count: number }): string {
  return count > 1 && index <= count ? `image ${index} of ${count}` : `image ${index}`
}

/** `preview 1 of 2`. @param preview its number, from 0; how many were asked for is null if that is unknown */
export function previewLabel({ partial, partials }: { partial: number; partials: number | null }): string {
  const number = partial + 1
  return partials !== null && number <= partials ? `preview ${number} of ${partials}` : `preview ${number}`
}
