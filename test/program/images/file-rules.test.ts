import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { encodePng } from '../../../src/files/codecs.ts'
import { gifBytes, pngBytes, pngChunk } from '../../support/image-bytes.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { maskPng, paddedPng, testImages, testPicture } from '../../support/test-images.ts'
import { silentGateway } from './silent-gateway.ts'
import { canaryKey } from '../../support/canary-key.ts'

let pictures: Awaited<ReturnType<typeof testImages>>
let mask: Uint8Array
let wide: Uint8Array
let opaque: Uint8Array
beforeAll(async () => {
  pictures = await testImages(64)
  mask = await maskPng(64)
  wide = await encodePng(testPicture(96, 64))
  opaque = pngBytes({ width: 64, height: 64, colourType: 2 })
})

interface Outcome {
  readonly code: number
  readonly err: string
  /** Calls to the gateway. */
  readonly calls: number
}

/** What the command says to an edit with these files, and the sandbox to the same with `--no-validate`. */
async function outcomes(
  model: string,
  files: Readonly<Record<string, Uint8Array>>,
  words: readonly string[],
): Promise<{ command: Outcome; sandbox: Outcome & { readonly created: number } }> {
  const cwd = temporaryFolder()
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(cwd, name), bytes)
  const run = async (url: string, more: readonly string[]) => {
    const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
    return await runMain(['image', 'edit', '-m', model, ...words, ...more, 'a dot'], { env, cwd })
  }
  const gateway = await silentGateway()
  // What is right is shown, not sent, so that the silent gateway is enough for both.
  const checked = await run(gateway.url, ['--dry-run'])
  const sandbox = await runningSandbox()
  const quick = model === 'image-model-b' ? ['--size', '256x256'] : ['--quality', 'low']
  const sent = await run(sandbox.url, ['--no-validate', '-o', 'out.png', ...quick])
  return {
    command: { ...checked, calls: gateway.calls },
    sandbox: { ...sent, calls: sandbox.requests().length, created: sandbox.created() },
  }
}

const accepted = { command: { code: 0, calls: 0 }, sandbox: { code: 0, created: 1 } }

const refused = (message: string) => ({
  command: { code: 2, calls: 0, err: expect.stringContaining(message) },
  sandbox: { code: 4, calls: 1, created: 0 },
})

const all = ['png', 'jpeg', 'webp']

describe.each([
  { model: 'image-model-a', maxCount: 16, formats: all, square: false },
  { model: 'image-model-a-mini', maxCount: 16, formats: all, square: false },
  { model: 'image-model-b', maxCount: 1, formats: ['png'], square: true },
])('$model', ({ model, maxCount, formats, square }) => {
  const images = (count: number) => Array.from({ length: count }, () => ['--image', 'source.png']).flat()

  test('as many images as it takes, and one more', async () => {
    const files = { 'source.png': pictures.png }
    expect(await outcomes(model, files, images(maxCount))).toMatchObject(accepted)
    const times = maxCount === 1 ? 'once' : `at most ${maxCount} times`
    expect(await outcomes(model, files, images(maxCount + 1))).toMatchObject(
      refused(`modelgate: --image may be given ${times} for ${model}, not ${maxCount + 1} times.`),
    )
  })

  test.each(['png', 'jpeg', 'webp'] as const)('%s, whatever its name', async (format) => {
    const isTaken = formats.includes(format)
    expect(await outcomes(model, { 'x.bin': pictures[format] }, ['--image', 'x.bin'])).toMatchObject(
      isTaken ? accepted : refused(`--image "x.bin" is image/${format}; ${model} takes image/png.`),
    )
  })

  test.each<[string, Uint8Array, string]>([
    ['a GIF', gifBytes(), '--image "a.png" is image/gif; '],
    ['no picture', Buffer.from('a dot'), '--image "a.png" is not a picture that can be read'],
  ])('%s', async (_, bytes, message) => {
    expect(await outcomes(model, { 'a.png': bytes }, ['--image', 'a.png'])).toMatchObject(refused(message))
  })

  test('a picture that is not square', async () => {
    expect(await outcomes(model, { 'wide.png': wide }, ['--image', 'wide.png'])).toMatchObject(
      square ? refused(`--image "wide.png" is 96x64; ${model} takes only square pictures.`) : accepted,
    )
  })

  const words = ['--image', 'source.png', '--mask', 'mask.png']

  test('a mask, and one that is too large', async () => {
    const files = (bytes: number) => ({ 'source.png': pictures.png, 'mask.png': paddedPng(mask, bytes) })
    expect(await outcomes(model, files(3_999_999), words)).toMatchObject(accepted)
    expect(await outcomes(model, files(4_000_000), words)).toMatchObject(
      refused('--mask "mask.png" has 4000000 bytes; a mask must be smaller than 4 MB.'),
    )
  })

  test.each<[string, () => Uint8Array | Promise<Uint8Array>, string]>([
    ['of another type', () => pictures.webp, '--mask "mask.png" must be a PNG, not image/webp.'],
    ['without an alpha channel', () => opaque, '--mask "mask.png" has no alpha channel'],
    ['that is cut off', () => mask.subarray(0, -20), '--mask "mask.png" is truncated: '],
    ['of other dimensions', () => maskPng(63, 64), '--mask "mask.png" is 63x64; the first --image is 64x64'],
  ])('a mask %s', async (_, make, message) => {
    const files = { 'source.png': pictures.png, 'mask.png': await make() }
    expect(await outcomes(model, files, words)).toMatchObject(refused(message))
  })
})

// Of 50 MB in `specification/large-pictures.ci.test.ts`.
test('image-model-b: an image as large as it takes, and one byte more', async () => {
  const files = (bytes: number) => ({ 'source.png': paddedPng(pictures.png, bytes) })
  const words = ['--image', 'source.png']
  expect(await outcomes('image-model-b', files(3_999_999), words)).toMatchObject(accepted)
  expect(await outcomes('image-model-b', files(4_000_000), words)).toMatchObject(
    refused('--image "source.png" has 4000000 bytes; image-model-b must be smaller than 4 MB.'),
  )
})

describe('a mask whose pixels mark nothing', () => {
  const run = async (bytes: Uint8Array, ...more: string[]) => {
    const cwd = temporaryFolder()
    writeFiles(cwd, { 'source.png': pictures.png, 'mask.png': bytes })
    const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: canaryKey() }
    const argv = [
      'image',
      'edit',
      '-m',
      'gpt-image-1',
      '--image',
      'source.png',
      '--mask',
      'mask.png',
      ...more,
    ]
    // What is right is shown, not sent.
    const { code, err } = await runMain([...argv, '--dry-run', 'a dot'], { env, cwd })
    return { code, err }
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

  test('is not refused when they cannot be decoded', async () => {
    const end = mask.subarray(-12)
    const broken = Buffer.concat([mask.subarray(0, 33), pngChunk('IDAT', Buffer.of(1, 2, 3)), end])
    expect(await run(broken)).toMatchObject({ code: 0 })
  })

  test('is one with transparency behind large metadata, too', async () => {
    const chunks = [pngChunk('caBX', Buffer.alloc(2_000_000)), pngChunk('tRNS', Buffer.of(0))]
    const shape = { width: 64, height: 64, colourType: 3, depth: 8, chunks }
    expect(await run(pngBytes(shape))).toMatchObject({ code: 0 })
    const rows = Array.from({ length: 64 }, () => new Uint8Array(64).fill(1))
    expect((await run(pngBytes({ ...shape, rows }))).err).toContain('no fully transparent pixel')
  })
})

test('the mask belongs to the first image', async () => {
  const files = { 'source.png': pictures.png, 'wide.png': wide, 'mask.png': mask }
  const both = (...order: string[]) => [...order.flatMap((name) => ['--image', name]), '--mask', 'mask.png']
  expect(await outcomes('image-model-a', files, both('source.png', 'wide.png'))).toMatchObject(accepted)
  expect(await outcomes('image-model-a', files, both('wide.png', 'source.png'))).toMatchObject(
    refused('--mask "mask.png" is 64x64; the first --image is 96x64, and both must be the same.'),
  )
})

test('an edit without a picture is refused, also with --no-validate', async () => {
  const { command, sandbox } = await outcomes('image-model-a', {}, [])
  expect(sandbox).toMatchObject({ code: 2, calls: 0 })
  expect(command).toMatchObject({ code: 2, calls: 0 })
  expect(command.err).toContain('--image is missing')
})

test('every problem of every file is told at once', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.gif': gifBytes(), 'wide.png': wide, 'mask.png': opaque })
  const gateway = await silentGateway()
  const env = { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: canaryKey() }
  const argv = ['image', 'edit', '-m', 'dall-e-2', '--image', 'wide.png', '--image', 'a.gif']
  const { code, err } = await runMain([...argv, '--mask', 'mask.png', '-n', '11', 'a dot'], { env, cwd })
  expect([code, gateway.calls]).toEqual([2, 0])
  expect(err.split('\n').filter((line) => line !== '')).toEqual([
    'modelgate: --n must be from 1 to 10, not 11.',
    'modelgate: --image may be given once for dall-e-2 (image-model-b), not 2 times.',
    'modelgate: --image "wide.png" is 96x64; dall-e-2 (image-model-b) takes only square pictures.',
    'modelgate: --image "a.gif" is image/gif; dall-e-2 (image-model-b) takes image/png.',
    'modelgate: --mask "mask.png" has no alpha channel, which marks what is to be edited.',
    'modelgate: --mask "mask.png" is 64x64; the first --image is 96x64, and both must be the same.',
    '  hint: --no-validate sends it anyway.',
  ])
})
