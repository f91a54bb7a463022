import { spawnSync } from 'node:child_process'
import type { Planes } from '../../src/sandbox/videos/film/macroblock.ts'

/** Whether ffmpeg is installed, which tests of what a decoder sees need. */
export const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0

/**
 * Decodes a video with ffmpeg, which stops at the first error in the stream.
 * @returns its pictures, each its three planes one after the other; throws what ffmpeg complains about
 */
export function decodeVideo(video: Uint8Array, width: number, height: number): Buffer[] {
  const { status, stdout, stderr } = spawnSync(
    'ffmpeg',
    '-v error -xerror -err_detect explode -i pipe:0 -f rawvideo -pix_fmt yuv420p pipe:1'.split(' '),
    { input: video, maxBuffer: 2 ** 31 - 1 },
  )
  const complaint = stderr.toString()
  if (status !== 0 || complaint !== '') throw new Error(`ffmpeg ended with ${status}: ${complaint}`)
  const size = (width * height * 3) / 2
  return Array.from({ length: stdout.length / size }, (_, index) =>
    stdout.subarray(index * size, (index + 1) * size),
  )
}

/**
 * How near a decoded picture is to what was drawn, in decibels (PSNR); at 40 hardly anybody sees a difference.
 * @param offset first column of the drawn planes that the picture shows
 */
export function likeness(
  picture: Buffer,
  drawn: Planes,
  width: number,
  height: number,
  offset: number,
): number {
  let sum = 0
  let at = 0
  for (const [plane, scale] of [
    [drawn.luma, 1],
    [drawn.chroma[0], 2],
    [drawn.chroma[1], 2],
  ] as const) {
    for (let y = 0; y < height / scale; y++) {
      for (let x = 0; x < width / scale; x++) {
        sum += (picture[at++]! - plane.samples[y * plane.width + x + offset / scale]!) ** 2
      }
    }
  }
  return 10 * Math.log10(255 ** 2 / (sum / at))
}
