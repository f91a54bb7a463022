import type { Context } from '../../context.ts'
import { decodeImage, encodePng } from '../../files/codecs.ts'
import { readImageInfo } from '../../files/image-info.ts'
import { detectProtocol, hasTrueColour, type PreviewMode } from './detect-protocol.ts'
import { fitPicture, halfBlocks, itermPicture, kittyPicture, previewRoom } from './protocols.ts'

/** Decoding takes four bytes per pixel, on this thread. */
const maxPixels = 40_000_000

/**
 * The text that shows an image on the terminal.
 * @param skip receives the reason why it is not shown; then the result is undefined
 * @throws whatever a decoder throws for broken bytes
 */
export async function drawPicture(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  bytes: Uint8Array,
  skip: (message: string) => void,
): Promise<string | undefined> {
  const protocol = mode === 'auto' ? detectProtocol(context.env) : mode
  // Half blocks need colour; without it they are used only if requested by name.
  if (mode === 'auto' && protocol === 'blocks' && context.env.NO_COLOR) return undefined
  const info = readImageInfo(bytes)
  if (info === undefined) return void skip('no preview: the image cannot be read')
  const { width, height, format, mediaType } = info
  const size = fitPicture(width, height, previewRoom(context))
  if (protocol === 'iterm') return itermPicture(bytes, size)
  if (width * height > maxPixels) return void skip(`no preview: ${width} × ${height} pixels are too large`)
  if (format === 'gif') return void skip('no preview: GIF images are not supported')
  if (protocol === 'kitty') {
    return kittyPicture(format === 'png' ? bytes : await encodePng(await decodeImage(bytes, mediaType)), size)
  }
  return halfBlocks(await decodeImage(bytes, mediaType), size, hasTrueColour(context) ? 'true' : 256)
}
