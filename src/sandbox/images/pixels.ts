import type { Pixels } from '../../files/codecs.ts'

/** Width and height in pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}

/** A copy with one number for each pixel. */
function copyOf({ data }: Pixels): Uint32Array<ArrayBuffer> {
  return new Uint32Array(data.slice().buffer)
}

function pictureOf(pixels: Uint32Array<ArrayBuffer>, { width, height }: Size): Pixels {
  return { data: new Uint8ClampedArray(pixels.buffer), width, height }
}

export function hasTransparency({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true
  return false
}

/** The picture on white, for a format or a background without transparency. */
export function onWhite(picture: Pixels): Pixels {
  if (!hasTransparency(picture)) return picture
  const data = picture.data.slice()
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3]! / 255
    for (let channel = at; channel < at + 3; channel++) data[channel] = 255 + (data[channel]! - 255) * alpha
    data[at + 3] = 255
  }
  return { ...picture, data }
}

/** The picture with a transparent margin. */
export function cutOut(picture: Pixels): Pixels {
  const { width, height } = picture
  const pixels = copyOf(picture)
  const margin = Math.ceil(Math.min(width, height) / 16)
  for (let y = 0; y < height; y++) {
    const isMargin = y < margin || y >= height - margin
    pixels.fill(0, y * width, y * width + (isMargin ? width : margin))
    pixels.fill(0, (y + 1) * width - margin, (y + 1) * width)
  }
  return pictureOf(pixels, picture)
}

/** Scales and crops a picture to fill a size, by its nearest pixels. */
export function fit(picture: Pixels, size: Size): Pixels {
  const { width, height } = size
  if (picture.width === width && picture.height === height) return picture
  const scale = Math.min(picture.width / width, picture.height / height)
  const left = (picture.width - width * scale) / 2
  const top = (picture.height - height * scale) / 2
  const from = copyOf(picture)
  const to = new Uint32Array(width * height)
  for (let y = 0; y < height; y++) {
    const row = Math.floor(top + (y + 0.5) * scale) * picture.width
    for (let x = 0; x < width; x++) to[y * width + x] = from[row + Math.floor(left + (x + 0.5) * scale)]!
  }
  return pictureOf(to, size)
}

/**
 * Paints a new picture where the mask's alpha is zero (specification, endpoint 6, `mask`); other pixels stay as they are.
 * @param mask of the same size
 * @param draw makes the new picture, of the size of the area that is open
 */
export function paintOpening(base: Pixels, mask: Pixels, draw: (size: Size) => Pixels): Pixels {
  const { width, height } = base
  const isOpen = (x: number, y: number) => mask.data[(y * width + x) * 4 + 3] === 0
  let [left, top, right, bottom] = [width, height, 0, 0]
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!isOpen(x, y)) continue
      left = Math.min(left, x)
      right = Math.max(right, x + 1)
      top = Math.min(top, y)
      bottom = y + 1
    }
  }
  if (bottom === 0) return base
  const picture = draw({ width: right - left, height: bottom - top })
  const [pixels, painted] = [copyOf(base), copyOf(picture)]
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      if (isOpen(x, y)) pixels[y * width + x] = painted[(y - top) * picture.width + x - left]!
    }
  }
  return pictureOf(pixels, base)
}

/** Blends a share of another picture's colours over a whole picture, and keeps its alpha. */
export function tint(base: Pixels, paint: Pixels, share: number): Pixels {
  const data = base.data.slice()
  for (let at = 0; at < data.length; at += 4) {
    for (let channel = at; channel < at + 3; channel++) {
      data[channel] = data[channel]! + (paint.data[channel]! - data[channel]!) * share
    }
  }
  return { ...base, data }
}

/** A picture that is painted from the top, and is grey where the paint has not come yet. */
export function unfinished(picture: Pixels, share: number): Pixels {
  const data = picture.data.slice()
  const begin = Math.floor(picture.height * share) * picture.width * 4
  for (let at = begin; at < data.length; at++) if (at % 4 !== 3) data[at] = 128
  return { ...picture, data }
}
