import { expect, test } from 'vitest'
import { streamVideo } from '../../src/files/stream-video.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

test.each([1, 50, 64, 5000])('a video goes to standard output as it comes, in pieces of %i', async (step) => {
  const context = testContext()
  const stream = streamVideo(context)
  const video = mp4Bytes()
  const piece = Buffer.alloc(step)
  for (let at = 0; at < video.length; at += step) {
    const length = video.copy(piece, 0, at, at + step)
    await stream.write(piece.subarray(0, length))
    piece.fill(0)
  }
  expect(context.stdout.bytes.length).toBe(video.length)
  expect(await stream.done()).toBeUndefined()
  expect(context.stdout.bytes.equals(video)).toBe(true)
})

test.each([
  ['a page', '<html>'.repeat(30), 'not_a_video'],
  ['nothing', '', 'empty_video'],
])('nothing of %s does', async (_, content, code) => {
  const context = testContext()
  const stream = streamVideo(context)
  const work = async () => {
    for (const byte of Buffer.from(content)) await stream.write(Buffer.of(byte))
    await stream.done()
  }
  await expect(work()).rejects.toMatchObject({ exitCode: 8, code })
  await stream.drop()
  expect(context.stdout.bytes.length).toBe(0)
})
