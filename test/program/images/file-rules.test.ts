import { expect, test } from 'vitest'
import { encodePng } from '../../../src/files/codecs.ts'
import { gifBytes, pngBytes, pngChunk } from '../../support/image-bytes.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { testPicture } from '../../support/test-images.ts'
import { given } from './image-run.ts'

/** What an edit with these files says; what is right is shown, not sent. */
async function edit(files: Readonly<Record<string, Uint8Array>>, words: string) {
  const { run, cwd, server } = await given()
  writeFiles(cwd, files)
  const { code, err } = await run(['edit', ...words.split(' '), '--dry-run', 'a dot'])
  expect(server.requests).toEqual([])
  return { code, err }
}

test('a mask whose pixels mark nothing is refused, and --no-validate sends it', async () => {
  const files = {
    'source.png': await encodePng(testPicture(64, 64)),
    'mask.png': await encodePng(testPicture(64, 64, () => 1)),
  }
  const words = '-m gpt-image-1 --image source.png --mask mask.png'
  const problem =
    '--mask "mask.png" has no fully transparent pixel (alpha 0), so nothing is marked to be edited.'
  expect(await edit(files, words)).toEqual({
    code: 2,
    err: `modelgate: ${problem}\n  hint: --no-validate sends it anyway.\n`,
  })
  expect((await edit(files, `${words} --no-validate`)).code).toBe(0)
  // Transparency behind megabytes of metadata.
  const chunks = [pngChunk('caBX', Buffer.alloc(2_000_000)), pngChunk('tRNS', Buffer.of(0))]
  const shape = { width: 64, height: 64, colourType: 3, depth: 8, chunks } as const
  expect((await edit({ ...files, 'mask.png': pngBytes(shape) }, words)).code).toBe(0)
  const rows = Array.from({ length: 64 }, () => new Uint8Array(64).fill(1))
  expect((await edit({ ...files, 'mask.png': pngBytes({ ...shape, rows }) }, words)).err).toContain(problem)
})

test('every problem of every file is told at once', async () => {
  const files = {
    'a.gif': gifBytes(),
    'wide.png': await encodePng(testPicture(96, 64)),
    'mask.png': pngBytes({ width: 64, height: 64, colourType: 2 }),
  }
  const words = '-m dall-e-2 --image wide.png --image a.gif --mask mask.png -n 11'
  expect(await edit(files, words)).toEqual({
    code: 2,
    err: `modelgate: --n must be from 1 to 10, not 11.
modelgate: --image may be given once for dall-e-2 (image-model-b), not 2 times.
modelgate: --image "wide.png" is 96x64; dall-e-2 (image-model-b) takes only square images.
modelgate: --image "a.gif" is image/gif; dall-e-2 (image-model-b) takes image/png.
modelgate: --mask "mask.png" has no alpha channel, which marks what is to be edited.
modelgate: --mask "mask.png" is 64x64; the first --image is 96x64, and both must be the same.
  hint: --no-validate sends it anyway.
`,
  })
})
