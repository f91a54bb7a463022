import { ContractError } from '../errors.ts'
import { pushInto, type PushedSteps, type Steps } from './byte-steps.ts'
import { readMatroska } from './matroska-info.ts'
import { sniffMediaType } from './media-type.ts'
import { readMp4 } from './mp4-info.ts'
import type { VideoShape } from './video-shape.ts'
import { describeContent } from './wrong-content.ts'

export type VideoFormat = 'mp4' | 'mov' | 'webm' | 'mkv'

export interface InspectedVideo extends VideoShape {
  readonly format: VideoFormat
}

/** Looks at a video while it passes by, whatever its size. */
export interface VideoInspector {
  /**
   * Takes the next bytes, in pieces of any size. Gives the format once the first bytes have told it.
   * @throws ContractError `not_a_video` (fault F17)
   */
  add(bytes: Uint8Array): VideoFormat | undefined
  /**
   * What has passed by. The last call.
   * @throws ContractError `empty_video` (fault F18), `not_a_video`
   */
  finish(): InspectedVideo
}

export const videoMediaTypes: Readonly<Record<VideoFormat, string>> = {
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
}

const readers: Readonly<Record<VideoFormat, () => Steps<VideoShape>>> = {
  mp4: readMp4,
  mov: readMp4,
  webm: readMatroska,
  mkv: readMatroska,
}

/** Enough for the brands of an MP4 and the document type of a WebM. */
const formatBytes = 64

export function createVideoInspector(): VideoInspector {
  const head = Buffer.alloc(formatBytes)
  let headLength = 0
  let format: VideoFormat | undefined
  let reading: PushedSteps<VideoShape> | undefined

  function begin(): PushedSteps<VideoShape> {
    const start = head.subarray(0, headLength)
    format = videoFormatOf(start)
    if (format === undefined) throw notAVideo(start)
    reading = pushInto(readers[format]())
    reading.add(start)
    return reading
  }
  return {
    add(bytes) {
      const kept = bytes.subarray(0, formatBytes - headLength)
      // A copy, because whoever gives the bytes may use their memory again.
      head.set(kept, headLength)
      headLength += kept.length
      if (reading !== undefined) reading.add(bytes)
      else if (headLength === formatBytes) begin().add(bytes.subarray(kept.length))
      return format
    },
    finish() {
      if (headLength === 0) throw new ContractError('empty_video', 'The gateway sent a video of 0 bytes.')
      const shape = (reading ?? begin()).finish()
      return { format: format!, ...shape }
    },
  }
}

function videoFormatOf(start: Buffer): VideoFormat | undefined {
  const mediaType = sniffMediaType(start)
  const formats = Object.keys(videoMediaTypes) as VideoFormat[]
  return formats.find((format) => videoMediaTypes[format] === mediaType) ?? oldQuickTime(start)
}

/** QuickTime files had no `ftyp` once: then one of these boxes comes first. */
function oldQuickTime(start: Buffer): VideoFormat | undefined {
  const type = start.toString('latin1', 4, 8)
  return start[0] === 0 && ['moov', 'mdat', 'wide', 'free', 'skip', 'pnot'].includes(type) ? 'mov' : undefined
}

function notAVideo(start: Buffer): ContractError {
  return new ContractError('not_a_video', `The gateway sent ${describeContent(start)} in place of a video.`)
}

/** The video came, and is not whole. */
export function damagedVideo(damage: string): ContractError {
  return new ContractError('damaged_video', `The gateway sent a damaged video: ${damage}.`)
}
