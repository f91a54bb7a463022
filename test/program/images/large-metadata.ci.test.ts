import { beforeAll, describe, expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { jpegSegment, pngChunk } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { testImages } from '../../support/test-images.ts'
import { end, head, readAll, write } from '../../support/server-replies.ts'
import { quick, workspaceAt } from './image-run.ts'
import { images } from './replies.ts'

/** Larger than what is kept of a picture's beginning. */
const manifest = Buffer.alloc(3_000_000, 'c2pa manifest ')
const formats = ['png', 'jpeg', 'webp'] as const

/** Whole pictures with a large record of their origin (C2PA), as their standard places it in each format. */
let signed: Record<(typeof formats)[number], Buffer>
beforeAll(async () => {
  const { png, jpeg, webp } = await testImages(64)
  const segments = Array.from({ length: 50 }, (_, at) =>
    jpegSegment(0xeb, manifest.subarray(at * 60_000, (at + 1) * 60_000)),
  )
  const chunk = Buffer.concat([Buffer.from('C2PA\0\0\0\0'), manifest])
  chunk.writeUInt32LE(manifest.length, 4)
  const riff = Buffer.concat([webp, chunk])
  riff.writeUInt32LE(riff.length - 8, 4)
  signed = {
    png: Buffer.concat([png.subarray(0, 33), pngChunk('caBX', manifest), png.subarray(33)]),
    jpeg: Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]),
    webp: riff,
  }
})

describe.each(formats)('a %s with megabytes of metadata', (format) => {
  test.each(['base64', 'url'])('comes out byte for byte, from %s', async (source) => {
    const bytes = signed[format]
    const file = [readAll, write(head(200, { 'content-length': String(bytes.length) })), write(bytes), end]
    const server = await localServer(source === 'url' ? [images({ url: '/x' }), file] : [images(bytes)])
    const workspace = workspaceAt(server)
    const { code, out } = await workspace.run(['create', '-m', 'm', '-o', 'x', '--json', 'A kite'])
    expect(code).toBe(0)
    const [saved] = (JSON.parse(out) as Json).files as Json[]
    expect(saved).toMatchObject({ format, width: 64, height: 64, bytes: bytes.length, verified: true })
    expect(workspace.read('x').equals(bytes)).toBe(true)
  })

  test('is a source like any other', async () => {
    const sandbox = await runningSandbox()
    const workspace = workspaceAt(sandbox)
    writeFiles(workspace.cwd, { in: signed[format] })
    for (const model of [quick, ['-m', 'my-own']]) {
      const words = ['edit', ...model, '--image', 'in', '--force', '-o', 'x', 'A kite']
      const { code, err } = await workspace.run(words)
      expect([code, err]).toEqual([0, expect.stringContaining('image 1: ')])
    }
  })

  test('is decoded', async () => {
    expect(await decodeImage(signed[format], `image/${format}`)).toMatchObject({ width: 64, height: 64 })
  })
})
