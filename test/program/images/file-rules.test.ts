import { beforeAll, describe, expect, test } from 'vitest'
import { encodePng } from '../../../src/files/codecs.ts'
import { gifBytes, pngBytes, pngChunk } from '../../support/image-bytes.ts'
import { runMain } from '../../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testImages, testPicture } from '../../support/test-images.ts'
import { localServer } from '../../support/local-server.ts'
import { canaryKey } from '../../support/canary-key.ts'

let pictures: Awaited<ReturnType<typeof testImages>>
let wide: Uint8Array
let opaque: Uint8Array
beforeAll(async () => {
  pictures = await testImages(64)
  wide = await encodePng(testPicture(96, 64))
  opaque = pngBytes({ width: 64, height: 64, colourType: 2 })
})

/** What the command says to an edit with these files; what is right is shown, not sent. */
async function edit(model: string, files: Readonly<Record<string, Uint8Array>>, words: readonly string[]) {
  const cwd = temporaryFolder()
  writeFiles(cwd, files)
  const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: canaryKey() }
  const { code, err } = await runMain(['image', 'edit', '-m', model, ...words, '--dry-run', 'a dot'], {
    env,
    cwd,
  })
  return { code, err }
}

describe('a mask whose pixels mark nothing', () => {
  const run = (bytes: Uint8Array, ...more: string[]) => {
    const files = { 'source.png': pictures.png, 'mask.png': bytes }
    return edit('gpt-image-1', files, ['--image', 'source.png', '--mask', 'mask.png', ...more])
  }

  test('is refused, and --no-validate sends it', async () => {
    const closed = await encodePng(testPicture(64, 64, () => 1))
    expect(await run(closed)).toEqual({
      code: 2,
      err:
        'modelgate: --mask "mask.png" has no fully transparent pixel (alpha 0), so nothing is marked to be edited.\n' +
        '  hint: --no-validate sends it anyway.\n',
    })
    expect(await run(closed, '--no-validate')).toMatchObject({ code: 0 })
  })

  test('is one with transparency behind large metadata, too', async () => {
    const chunks = [pngChunk('caBX', Buffer.alloc(2_000_000)), pngChunk('tRNS', Buffer.of(0))]
    const shape = { width: 64, height: 64, colourType: 3, depth: 8, chunks }
    expect(await run(pngBytes(shape))).toMatchObject({ code: 0 })
    const rows = Array.from({ length: 64 }, () => new Uint8Array(64).fill(1))
    expect((await run(pngBytes({ ...shape, rows }))).err).toContain('no fully transparent pixel')
  })
})

test('every problem of every file is told at once', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.gif': gifBytes(), 'wide.png': wide, 'mask.png': opaque })
  const gateway = await localServer([])
  const env = { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: canaryKey() }
  const argv = ['image', 'edit', '-m', 'dall-e-2', '--image', 'wide.png', '--image', 'a.gif']
  const { code, err } = await runMain([...argv, '--mask', 'mask.png', '-n', '11', 'a dot'], { env, cwd })
  expect([code, gateway.requests]).toEqual([2, []])
  expect(err.split('\n').filter((line) => line !== '')).toEqual([
    'modelgate: --n must be from 1 to 10, not 11.',
    'modelgate: --image may be given once for dall-e-2 (image-model-b), not 2 times.',
    'modelgate: --image "wide.png" is 96x64; dall-e-2 (image-model-b) takes only square images.',
    'modelgate: --image "a.gif" is image/gif; dall-e-2 (image-model-b) takes image/png.',
    'modelgate: --mask "mask.png" has no alpha channel, which marks what is to be edited.',
    'modelgate: --mask "mask.png" is 64x64; the first --image is 96x64, and both must be the same.',
    '  hint: --no-validate sends it anyway.',
  ])
})
