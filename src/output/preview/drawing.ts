import type { Context } from '../../context.ts'
import { decodeImage, encodePng, type Pixels } from '../../files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { detectProtocol, type Protocol, askTmux, throughTmux } from './detect-protocol.ts'
import { cellAspect, fitPicture, previewRoom, type FittedSize, scaleToCells } from './fit-picture.ts'
import {
  halfBlocks,
  itermPicture,
  itermThroughTmux,
  kittyPicture,
  kittyPlaceholders,
  sixelPicture,
} from './protocols.ts'

/** `auto` takes the best that the terminal has. */
export type PreviewMode = 'auto' | 'kitty' | 'iterm' | 'sixel' | 'blocks' | 'off'

export interface PreviewImage {
  readonly bytes: Uint8Array
  /** As declared; the bytes decide. */
  readonly mediaType: string
  /** One line below the picture. */
  readonly caption?: string
}

/** Shows pictures on the terminal. */
export interface Preview {
  /** Never throws: what cannot be shown is skipped, and the first time that is said. */
  show(image: PreviewImage): Promise<void>
}

/** Turns images into what a terminal shows. */
export interface Drawing {
  /**
   * The text to write; undefined when the image is skipped, which has been said then.
   * @throws whatever a decoder throws for broken bytes
   */
  draw(bytes: Uint8Array): Promise<string | undefined>
}

/** Decoding takes four bytes a pixel, on this thread. */
const mostPixels = 40_000_000

/** What tmux takes in one sequence, as base64, with room to spare (its own limit is 1 MiB). */
const mostTmuxBytes = 700_000

/** Looks once at what the terminal can do. */
export async function createDrawing(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  skip: (message: string) => void,
): Promise<Drawing> {
  const { protocol, isInTmux } = await chooseProtocol(context, mode, skip)
  let id = Math.floor(context.clock.random() * 255)

  async function drawn(bytes: Uint8Array, info: ImageInfo, size: FittedSize): Promise<string> {
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
  // Blocks are nothing but colour, and nobody asked for them by name.
  const isUnwanted = mode === 'auto' && protocol === 'blocks' && Boolean(context.env.NO_COLOR)
  return {
    async draw(bytes) {
      if (isUnwanted) return undefined
      const info = readImageInfo(bytes)
      if (info === undefined) return void skip('no preview: the image cannot be read')
      const { width, height, format } = info
      const isPassedOn = protocol === 'iterm' && !isInTmux
      if (width * height > mostPixels && !isPassedOn) {
        return void skip(`no preview: ${width} × ${height} pixels are too many`)
      }
      if (format === 'gif' && !isPassedOn) return void skip('no preview: GIF images cannot be decoded')
      return await drawn(bytes, info, fitPicture(width, height, previewRoom(context)))
    },
  }
}

/** Inside tmux only what tmux passes on; inside GNU screen, which cuts long sequences, nothing but characters. */
async function chooseProtocol(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  skip: (message: string) => void,
): Promise<{ protocol: Protocol; isInTmux: boolean }> {
  const { env } = context
  const blocks = { protocol: 'blocks', isInTmux: false } as const
  if (mode === 'blocks') return blocks
  if (env.TMUX) {
    const tmux = await askTmux(context)
    const protocol = mode === 'auto' ? tmux.protocol : mode
    if (protocol === 'blocks' || protocol === 'sixel') return blocks
    if (tmux.passesThrough) return { protocol, isInTmux: true }
    if (mode !== 'auto') skip('tmux passes no pictures on; allow it with: tmux set -g allow-passthrough on')
    return blocks
  }
  if (mode !== 'auto') return { protocol: mode, isInTmux: false }
  return env.STY ? blocks : { protocol: detectProtocol(env), isInTmux: false }
}

/** `COLORTERM` says so, or Node knows the terminal. */
function hasTrueColour({ env, stderr }: Context): boolean {
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return true
  return (stderr.stream?.getColorDepth?.(env) ?? 8) >= 24
}

async function asPng(
  bytes: Uint8Array,
  info: ImageInfo,
  decoded: () => Promise<Pixels>,
): Promise<Uint8Array> {
  return info.format === 'png' ? bytes : await encodePng(await decoded())
}

/** As many pixels as are shown, and fewer if that is still too much for tmux. */
async function asSmallPng(decoded: () => Promise<Pixels>, size: FittedSize): Promise<Uint8Array> {
  const picture = await decoded()
  for (let width = 16; ; width /= 2) {
    const cell = { width, height: width * cellAspect }
    const png = await encodePng(scaleToCells(picture, size, cell))
    if (png.length <= mostTmuxBytes || width <= 1) return png
  }
}
