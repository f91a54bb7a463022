import type { Context } from '../../context.ts'
import { decodeImage, encodePng, type Pixels } from '../../files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { detectProtocol, hasTrueColour, type PreviewMode } from './detect-protocol.ts'
import {
  fitPicture,
  type FittedSize,
  halfBlocks,
  itermPicture,
  kittyPicture,
  previewRoom,
} from './protocols.ts'

/** Converts images to terminal output. */
export interface Drawing {
  /**
   * The text to write; undefined when the image is skipped, which is reported through `skip`.
   * @throws whatever a decoder throws for broken bytes
   */
  draw(bytes: Uint8Array): Promise<string | undefined>
}

/** Decoding takes four bytes per pixel, on this thread. */
const maxPixels = 40_000_000

/** @param skip receives the reason why an image is not shown */
export function createDrawing(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  skip: (message: string) => void,
): Drawing {
  const protocol = mode === 'auto' ? detectProtocol(context.env) : mode

  async function render(bytes: Uint8Array, info: ImageInfo, size: FittedSize): Promise<string> {
    const decoded = () => decodeImage(bytes, info.mediaType)
    switch (protocol) {
      case 'blocks':
        return halfBlocks(await decoded(), size, hasTrueColour(context) ? 'true' : 256)
      case 'kitty':
        return kittyPicture(await asPng(bytes, info, decoded), size)
      case 'iterm':
        return itermPicture(bytes, size)
    }
  }
  // Half blocks need colour; without it they are used only if requested by name.
  const isColourless = mode === 'auto' && protocol === 'blocks' && Boolean(context.env.NO_COLOR)
  return {
    async draw(bytes) {
      if (isColourless) return undefined
      const info = readImageInfo(bytes)
      if (info === undefined) return void skip('no preview: the image cannot be read')
      const { width, height, format } = info
      const isSentAsIs = protocol === 'iterm'
      if (width * height > maxPixels && !isSentAsIs) {
        return void skip(`no preview: ${width} × ${height} pixels are too large`)
      }
      if (format === 'gif' && !isSentAsIs) return void skip('no preview: GIF images are not supported')
      return await render(bytes, info, fitPicture(width, height, previewRoom(context)))
    },
  }
}

async function asPng(
  bytes: Uint8Array,
  info: ImageInfo,
  decoded: () => Promise<Pixels>,
): Promise<Uint8Array> {
  return info.format === 'png' ? bytes : await encodePng(await decoded())
}
