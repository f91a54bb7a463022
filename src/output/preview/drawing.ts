import type { Context } from '../../context.ts'
import { decodeImage, encodePng, type Pixels } from '../../files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { chooseProtocol, hasTrueColour, throughTmux, type PreviewMode } from './detect-protocol.ts'
import {
  cellAspect,
  fitPicture,
  type FittedSize,
  halfBlocks,
  itermPicture,
  itermThroughTmux,
  kittyPicture,
  kittyPlaceholders,
  previewRoom,
  scaleToCells,
  sixelPicture,
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

/** tmux takes at most 1 MiB in one sequence; as base64 this is less. */
const maxTmuxBytes = 700_000

/** @param skip receives the reason why an image is not shown */
export async function createDrawing(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  skip: (message: string) => void,
): Promise<Drawing> {
  const { protocol, isInTmux } = await chooseProtocol(context, mode, skip)
  let id = Math.floor(context.clock.random() * 255)

  async function render(bytes: Uint8Array, info: ImageInfo, size: FittedSize): Promise<string> {
    const decoded = () => decodeImage(bytes, info.mediaType)
    switch (protocol) {
      case 'blocks':
        return halfBlocks(await decoded(), size, hasTrueColour(context) ? 'true' : 256)
      case 'sixel':
        return await sixelPicture(await decoded(), size)
      case 'kitty': {
        if (!isInTmux) return kittyPicture(await asPng(bytes, info, decoded), size)
        id = (id % 255) + 1
        return kittyPlaceholders(await asSmallPng(decoded, size), size, id, throughTmux)
      }
      case 'iterm':
        return isInTmux
          ? itermThroughTmux(await asSmallPng(decoded, size), size, throughTmux)
          : itermPicture(bytes, size)
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
      const isSentAsIs = protocol === 'iterm' && !isInTmux
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

/** No more pixels than are shown, and fewer if that is still too much for tmux. */
async function asSmallPng(decoded: () => Promise<Pixels>, size: FittedSize): Promise<Uint8Array> {
  const picture = await decoded()
  for (let width = 16; ; width /= 2) {
    const cell = { width, height: width * cellAspect }
    const png = await encodePng(scaleToCells(picture, size, cell))
    if (png.length <= maxTmuxBytes || width <= 1) return png
  }
}
