import { expect, test } from 'vitest'
import { streamMedia } from '../../src/files/stream-media.ts'
import { videoKind } from '../../src/files/video-info.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

test.each([1, 50, 64, 5000])(
  'a video goes to standard output as it arrives, in pieces of %i',
  async (step) => {
    const context = testContext()
    const stream = streamMedia(context, videoKind)
    const video = mp4Bytes()
    const piece = Buffer.alloc(step)
    for (let at = 0; at < video.length; at += step) {
      const length = video.copy(piece, 0, at, at + step)
      await stream.write(piece.subarray(0, length))
      piece.fill(0)
    }
    expect(context.stdout.bytes.length).toBe(video.length)
    expect(await stream.commit()).toMatchObject({ path: '-', bytes: video.length, verified: true })
    expect(context.stdout.bytes.equals(video)).toBe(true)
  },
)

test.each([
  ['a page', '<html>'.repeat(30), 'not_a_video'],
  ['nothing', '', 'empty_video'],
])('nothing of %s does', async (_, content, code) => {
  const context = testContext()
  const stream = streamMedia(context, videoKind)
  const work = async () => {
    for (const byte of Buffer.from(content)) await stream.write(Buffer.of(byte))
    await stream.commit()
  }
  await expect(work()).rejects.toMatchObject({ exitCode: 8, code })
  await stream.discard()
  expect(context.stdout.bytes.length).toBe(0)
})

test('damage is reported at the end, when it cannot be undone', async () => {
  const stream = streamMedia(testContext(), videoKind)
  await stream.write(mp4Bytes().subarray(0, -1))
  await expect(stream.commit()).rejects.toMatchObject({ exitCode: 8, code: 'damaged_video' })
})
