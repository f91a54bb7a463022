import { ContractError } from '../errors.ts'
import { readContainer, readOtherContainer } from './container-end.ts'
import { imageFormatOf, imageInfoHeadBytes, readImageInfo } from './image-info.ts'
import { damaged, type ContainerReader } from './integrity.ts'
import type { MediaInspector, MediaKind } from './media-file.ts'
import { sniffMediaType, describeContent } from './media-type.ts'

/** What is told of an image. */
export interface ImageFacts {
  /** `png`, `jpeg`, `webp`, `gif`, or the media type's own word for another. */
  readonly format: string
  /** In pixels; null where the header cannot be read. */
  readonly width: number | null
  readonly height: number | null
}

/** Enough for the brands of an AVIF. */
const formatBytes = 32

export const imageKind: MediaKind<ImageFacts> = { noun: 'image', createInspector }

function createInspector(): MediaInspector<ImageFacts> {
  const head = Buffer.allocUnsafe(imageInfoHeadBytes)
  let headLength = 0
  /** Once enough has come to be sure. */
  let known: { readonly type: string; readonly reader: ContainerReader } | undefined

  /** @throws ContractError `not_an_image` */
  function identify() {
    const start = head.subarray(0, headLength)
    const format = imageFormatOf(start)
    const type = format === undefined ? sniffMediaType(start) : `image/${format}`
    // A drawing in XML is a document, which may hold scripts.
    if (!type?.startsWith('image/')) throw notAnImage(start)
    const reader = format === undefined ? readOtherContainer(type) : readContainer(format)
    reader.add(start)
    return { type, reader }
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, head.length - headLength)
      // A copy, because whoever decodes may use its buffer again.
      head.set(kept, headLength)
      headLength += kept.length
      if (known !== undefined) known.reader.add(bytes)
      else if (headLength >= formatBytes) {
        known = identify()
        known.reader.add(bytes.subarray(kept.length))
      }
      return known?.type
    },
    inspect() {
      if (headLength === 0) throw new ContractError('empty_image', 'The gateway sent an image of 0 bytes.')
      const { type, reader } = known ?? identify()
      const info = readImageInfo(head.subarray(0, headLength))
      const found = reader.integrity()
      const isLegible = info !== undefined || !/^image\/(png|webp|gif)$/.test(type)
      const { width = null, height = null } = info ?? {}
      return {
        mediaType: type,
        facts: { format: type.slice('image/'.length), width, height },
        integrity: found.state === 'whole' && !isLegible ? damaged('its header cannot be read') : found,
      }
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
