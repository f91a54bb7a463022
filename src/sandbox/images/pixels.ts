import type { Pixels } from '../../files/codecs.ts'

export interface Size {
  readonly width: number
  readonly height: number
}

type Change = (data: Uint8ClampedArray, at: number, x: number, y: number) => void

/** A copy of a picture in which every pixel was changed: its red, green, blue and alpha begin at `at`. */
function changed(picture: Pixels, change: Change): Pixels {
  const { width, height } = picture
  const data = picture.data.slice()
  for (let y = 0, at = 0; y < height; y++) for (let x = 0; x < width; x++, at += 4) change(data, at, x, y)
  return { data, width, height }
}

function copy(data: Uint8ClampedArray, at: number, from: Pixels, x: number, y: number) {
  const start = (y * from.width + x) * 4
  for (let channel = 0; channel < 4; channel++) data[at + channel] = from.data[start + channel]!
}

export function hasTransparency({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true
  return false
}

/** The picture on white, for a format or a background without transparency. */
export function onWhite(picture: Pixels): Pixels {
  if (!hasTransparency(picture)) return picture
  return changed(picture, (data, at) => {
    const alpha = data[at + 3]! / 255
    for (let channel = at; channel < at + 3; channel++) data[channel] = 255 + (data[channel]! - 255) * alpha
    data[at + 3] = 255
  })
}

export function cutOut(picture: Pixels): Pixels {
  const { width, height } = picture
  const margin = Math.ceil(Math.min(width, height) / 16)
  return changed(picture, (data, at, x, y) => {
    if (Math.min(x, y, width - 1 - x, height - 1 - y) < margin) data.fill(0, at, at + 4)
  })
}

/** Scales and crops a picture to fill a size, by its nearest pixels. */
export function fit(picture: Pixels, { width, height }: Size): Pixels {
  if (picture.width === width && picture.height === height) return picture
  const scale = Math.min(picture.width / width, picture.height / height)
  const left = (picture.width - width * scale) / 2
  const top = (picture.height - height * scale) / 2
  const empty = { data: new Uint8ClampedArray(width * height * 4), width, height }
  return changed(empty, (data, at, x, y) => {
    copy(data, at, picture, Math.floor(left + (x + 0.5) * scale), Math.floor(top + (y + 0.5) * scale))
  })
}

/** Paints a new picture, of the size of the open area, where the mask has an alpha of zero (specification, endpoint 6). */
export function paintOpening(base: Pixels, mask: Pixels, draw: (size: Size) => Pixels): Pixels {
  const isOpen = (x: number, y: number) => mask.data[(y * mask.width + x) * 4 + 3] === 0
  let [left, top, right, bottom] = [base.width, base.height, 0, 0]
  for (let y = 0; y < base.height; y++) {
    for (let x = 0; x < base.width; x++) {
      if (!isOpen(x, y)) continue
      left = Math.min(left, x)
      right = Math.max(right, x + 1)
      top = Math.min(top, y)
      bottom = y + 1
    }
  }
  if (bottom === 0) return base
  const painted = draw({ width: right - left, height: bottom - top })
  return changed(base, (data, at, x, y) => {
    if (isOpen(x, y)) copy(data, at, painted, x - left, y - top)
  })
}

/** A picture that is painted from the top, and is grey where the paint has not arrived yet. */
export function unfinished(picture: Pixels, share: number): Pixels {
  const begin = Math.floor(picture.height * share)
  return changed(picture, (data, at, _, y) => {
    if (y >= begin) data.fill(128, at, at + 3)
  })
}
