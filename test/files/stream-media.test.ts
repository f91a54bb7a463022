import { describe, expect, test } from 'vitest'
import { imageKind } from '../../src/files/image-info.ts'
import { type MediaKind, videoKind } from '../../src/files/media-file.ts'
import { streamMedia } from '../../src/files/stream-media.ts'
import { noisyPng } from '../support/image-bytes.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

describe.each<[string, MediaKind<object>, Buffer]>([
  ['image', imageKind, noisyPng(40, 40)],
  ['video', videoKind, mp4Bytes({}, Buffer.alloc(5000, 7))],
])('%s: media on standard output', (_, kind, bytes) => {
  test.each([1, 50, 64, 5000])('goes there as it arrives, in pieces of %i', async (step) => {
    const context = testContext()
    const stream = streamMedia(context, kind)
    const piece = Buffer.alloc(step)
    for (let at = 0; at < bytes.length; at += step) {
      const length = bytes.copy(piece, 0, at, at + step)
      await stream.write(piece.subarray(0, length))
      piece.fill(0)
    }
    expect(context.stdout.bytes.equals(bytes)).toBe(true)
    expect(await stream.commit()).toMatchObject({ path: '-', bytes: bytes.length, verified: true })
    expect(context.stdout.drains).toBe(1)
  })

  test.each(['<html>'.repeat(30), ''])('is not %j', async (content) => {
    const context = testContext()
    const stream = streamMedia(context, kind)
    const work = async () => {
      for (const byte of Buffer.from(content)) await stream.write(Buffer.of(byte))
      await stream.commit()
    }
    await expect(work()).rejects.toMatchObject({ exitCode: 8, code: 'damaged_media' })
    await stream.discard()
    expect(context.stdout.bytes.length).toBe(0)
  })

  test('is told as damaged at the end, when it cannot be undone', async () => {
    const stream = streamMedia(testContext(), kind)
    await stream.write(bytes.subarray(0, -1))
    await expect(stream.commit()).rejects.toMatchObject({ exitCode: 8, code: 'damaged_media' })
  })

  test('may begin again, if it is the same, and leaves once', async () => {
    const context = testContext()
    const stream = streamMedia(context, kind)
    await stream.write(bytes.subarray(0, -10))
    await stream.restart()
    await stream.write(bytes.subarray(0, 20))
    await stream.write(bytes.subarray(20))
    expect(await stream.commit()).toMatchObject({ bytes: bytes.length, verified: true })
    expect(context.stdout.bytes.equals(bytes)).toBe(true)

    const other = streamMedia(testContext(), kind)
    await other.write(bytes.subarray(0, -10))
    await other.restart()
    const changed = Buffer.concat([bytes.subarray(0, -20), Buffer.alloc(20, 1)])
    await expect(other.write(changed)).rejects.toMatchObject({ code: 'connection_lost' })
  })
})

test('a slow reader is waited for', async () => {
  const context = testContext()
  context.stdout.hold()
  const image = streamMedia(context, imageKind)
  const events: string[] = []
  const writing = image.write(noisyPng(40, 40)).then(() => events.push('written'))
  await context.clock.advance(0)
  events.push('released')
  context.stdout.release()
  await writing
  expect(events).toEqual(['released', 'written'])
})
