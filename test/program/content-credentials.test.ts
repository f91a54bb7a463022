import { describe, expect, test } from 'vitest'
import { inspectBytes } from '../../src/files/inspect-file.ts'
import { manifestStore, signedFiles, credentialBox } from '../support/content-credential-bytes.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { given } from './images/image-run.ts'
import { completed, file, images, partial, red, stream } from './images/replies.ts'
import { film, finished, given as givenVideo, savingX, started } from './videos/video-replies.ts'

/** Of whatever a file holds each byte counts for its signature; this is more than is kept of a picture's beginning. */
const store = manifestStore(3_000_000)
const signed = signedFiles(store)
const png = signed['png']!

async function expectKept(saved: Buffer, sent: Buffer): Promise<void> {
  expect(saved.equals(sent)).toBe(true)
  const { credentials } = await inspectBytes('a', [saved])
  expect(credentials).toBe(true)
}

describe('content credentials are saved as they came', () => {
  test.each(['png', 'jpg', 'webp', 'gif', 'avif'])('of a %s in a JSON reply, and by its URL', async (ext) => {
    const bytes = signed[ext]!
    for (const replies of [[images(bytes)], [images({ url: '/x' }), file(bytes)]]) {
      const { run, read } = await given(...replies)
      const { code, out } = await run(['create', '-m', 'any', '-o', 'boat.{ext}', 'A boat'])
      expect([code, out]).toEqual([0, `boat.${ext}\n`])
      await expectKept(read(`boat.${ext}`), bytes)
    }
  })

  test('of an image in a stream, with a partial one before it and a sidecar beside it', async () => {
    const { run, read, files } = await given(stream([partial(red), completed(png)]))
    const words = ['--stream', '--partial-images', '1', '--sidecar', '-o', 'boat.png']
    const { code } = await run(['create', '-m', 'any', ...words, 'A boat'])
    expect([code, files()]).toEqual([0, ['boat.png', 'boat.png.json']])
    await expectKept(read('boat.png'), png)
  })

  test('of an edited image, and of the one that it is made from', async () => {
    const { run, server } = await given(images(png))
    const stdin = signedFiles(manifestStore())['png']!
    const words = ['edit', '-m', 'any', '--image', '-', '-o', '-', 'Night']
    const { code, bytes } = await run(words, { stdin })
    expect([code, server.requests[0]!.body.includes(stdin)]).toEqual([0, true])
    await expectKept(bytes, png)
  })

  test('of a video', async () => {
    const plain = mp4Bytes({ width: 1280, height: 720, duration: 4000 }, Buffer.alloc(5000, 1))
    const boat = Buffer.concat([plain, credentialBox(store)])
    const { run, read } = await givenVideo(started, finished(['/boat.mp4']), film(boat))
    expect((await run(savingX)).code).toBe(0)
    await expectKept(read('x.mp4'), boat)
  })
})
