import { describe, expect, test } from 'vitest'
import { inspectBytes } from '../../src/files/inspect-file.ts'
import { manifestStore, signedFiles, credentialBox } from '../support/content-credential-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { workspaceAt } from './images/image-run.ts'
import { completed, images, partial, red, stream } from './images/replies.ts'
import { film, finished, started } from './videos/video-replies.ts'
import { videoWorkspace } from './videos/video-run.ts'

/** Of whatever a file holds each byte counts for its signature. */
const store = manifestStore(50_000)
const signed = signedFiles(store)

async function expectKept(saved: Buffer, sent: Buffer): Promise<void> {
  expect(saved.equals(sent)).toBe(true)
  const { credentials } = await inspectBytes('a', [saved])
  expect(credentials).toBe(true)
}

describe('content credentials are saved as they came', () => {
  test.each(['png', 'jpg', 'webp', 'gif', 'avif'])('of a %s in a JSON reply', async (extension) => {
    const workspace = workspaceAt(await localServer([images(signed[extension]!)]))
    const { code, out } = await workspace.run(['create', '-m', 'any', '-o', 'boat.{ext}', 'A boat'])
    expect([code, out]).toEqual([0, `boat.${extension}\n`])
    await expectKept(workspace.read(`boat.${extension}`), signed[extension]!)
  })

  test('of an image in a stream, with a partial one before it and a sidecar beside it', async () => {
    const reply = stream([partial(red), completed(signed['png']!)])
    const workspace = workspaceAt(await localServer([reply]))
    const words = ['--stream', '--partial-images', '1', '--sidecar', '-o', 'boat.png']
    const { code } = await workspace.run(['create', '-m', 'any', ...words, 'A boat'])
    expect([code, workspace.files()]).toEqual([0, ['boat.png', 'boat.png.json']])
    await expectKept(workspace.read('boat.png'), signed['png']!)
  })

  test('of an edited image, and of the one that it is made from', async () => {
    const server = await localServer([images(signed['png']!)])
    const workspace = workspaceAt(server)
    const source = signedFiles(manifestStore())['png']!
    const { code, bytes } = await workspace.run(['edit', '-m', 'any', '--image', '-', '-o', '-', 'Night'], {
      stdin: source,
    })
    expect(code).toBe(0)
    await expectKept(bytes, signed['png']!)
    expect(server.requests[0]!.body.includes(source)).toBe(true)
  })

  test('of a video', async () => {
    const plain = mp4Bytes({ width: 1280, height: 720, duration: 4000 }, Buffer.alloc(5000, 1))
    const boat = Buffer.concat([plain, credentialBox(store)])
    const workspace = videoWorkspace(await localServer([started, finished(['/boat.mp4']), film(boat)]))
    const { code } = await workspace.run(['generate', '-m', 'veo', '--wait', '-o', 'boat.mp4', 'A boat'])
    expect(code).toBe(0)
    await expectKept(workspace.read('boat.mp4'), boat)
  })
})
