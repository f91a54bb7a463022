import { spawnSync } from 'node:child_process'

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
