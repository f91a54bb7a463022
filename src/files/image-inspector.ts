import { ContractError } from '../errors.ts'
import { findContainerEnd } from './container-end.ts'
import type { ContainerEnd } from './container-end.ts'
import { imageFormatOf, imageInfoHeadBytes, readImageInfo } from './image-info.ts'
import type { ImageFormat, ImageInfo } from './image-info.ts'
import { describeContent } from './wrong-content.ts'

/** Looks at an image while it passes by. */
export interface ImageInspector {
  /**
   * Takes the next bytes, in pieces of any size. Gives the format once the first bytes have told it.
   * @throws ContractError `not_an_image`
   */
  add(bytes: Uint8Array): ImageFormat | undefined
  /**
   * What has passed by.
   * @throws ContractError `empty_image`, `not_an_image`
   */
  finish(): InspectedImage
}

export interface InspectedImage {
  readonly format: ImageFormat
  /** Undefined when the header is damaged. */
  readonly info: ImageInfo | undefined
  /** What is wrong with it, as the end of a sentence; undefined when the container is whole. */
  readonly damage: string | undefined
}

const formatBytes = 16

export function createImageInspector(): ImageInspector {
  const head = Buffer.allocUnsafe(imageInfoHeadBytes)
  let headLength = 0
  let format: ImageFormat | undefined
  let end: ContainerEnd | undefined

  function identify(): ImageFormat {
    const start = head.subarray(0, headLength)
    format = imageFormatOf(start)
    if (format === undefined) throw notAnImage(start)
    return format
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, head.length - headLength)
      // A copy, because whoever decodes may use its buffer again.
      head.set(kept, headLength)
      headLength += kept.length
      if (end !== undefined) {
        end.add(bytes)
      } else if (headLength >= formatBytes) {
        end = findContainerEnd(identify())
        end.add(head.subarray(0, headLength))
        end.add(bytes.subarray(kept.length))
      }
      return format
    },
    finish() {
      if (headLength === 0) throw new ContractError('empty_image', 'The gateway sent an image of 0 bytes.')
      const found = format ?? identify()
      const info = readImageInfo(head.subarray(0, headLength))
      const damage = end?.isReached() ? undefined : `the ${found.toUpperCase()} data ends too early`
      return { format: found, info, damage: damage ?? (info ? undefined : 'its header cannot be read') }
    },
  }
}

function notAnImage(start: Buffer): ContractError {
  return new ContractError(
    'not_an_image',
    `The gateway sent ${describeContent(start)} in place of an image.`,
    { hint: 'Add --raw to see the reply as it came.' },
  )
}
