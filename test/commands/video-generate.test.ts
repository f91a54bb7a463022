import { beforeEach, describe, expect, test } from 'vitest'
import { flagName } from '../../src/contract/field.ts'
import { videoOperationEndpoint } from '../../src/contract/videos.ts'
import { sampleFor } from '../support/contract-samples.ts'
import { jpegBytes, pngBytes } from '../support/image-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { memorySink } from '../support/memory-sink.ts'
import { closeDelimited, text } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'
import { videoCall, videoRefusal } from '../support/video-call.ts'

const png = pngBytes({ width: 3, height: 2 })
const jpeg = jpegBytes()
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const webm = Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d', 'hex')
const stored = { gcsUri: 'gs://a/b.png', mimeType: 'image/png' }
const pngObject = { bytesBase64Encoded: base64(png), mimeType: 'image/png' }
const jpegObject = { bytesBase64Encoded: base64(jpeg), mimeType: 'image/jpeg' }
const orders = [{ prompt: 'One' }, { prompt: 'Two', image: { gcsUri: 'gs://a/b' } }]

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, {
    'a.png': png,
    // The name lies about the type.
    'b.png': jpeg,
    'x=y.png': png,
    'a.webm': webm,
    'page.png': '<html>no picture</html>',
    'empty.png': '',
    'orders.json': JSON.stringify(orders),
    'half.json': JSON.stringify([{ prompt: 'One' }, {}]),
    'broken.json': '[{"prompt": ',
  })
})

const generate = (argv: readonly string[], more: TestOverrides = {}) =>
  videoCall(['generate', '-m', 'veo', ...argv], { cwd, ...more })
const bodyOf = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await generate(argv, more)).request.body
const refused = (argv: readonly string[], more: TestOverrides = {}) =>
  videoRefusal(['generate', '-m', 'veo', ...argv], { cwd, ...more })

const { parameters } = videoOperationEndpoint.fields
const fields = Object.entries(parameters!.fields!)

test.each(fields)('parameters.%s has a flag', async (name, field) => {
  const { words, value } = sampleFor(field)
  const body = await bodyOf([`--${flagName(name)}`, ...words, 'A boat'])
  expect(body).toEqual({ instances: [{ prompt: 'A boat' }], parameters: { [name]: value } })
})

describe('pictures', () => {
  test('become base64 with the type that their bytes tell', async () => {
    const words = ['--image', 'a.png', '--last-frame', 'b.png', '--reference', 'a.png']
    expect(await bodyOf([...words, '--reference', 'b.png=style', 'It opens'])).toEqual({
      instances: [
        {
          prompt: 'It opens',
          image: pngObject,
          lastFrame: jpegObject,
          referenceImages: [
            { image: pngObject, referenceType: 'asset' },
            { image: jpegObject, referenceType: 'style' },
          ],
        },
      ],
      parameters: {},
    })
  })

  test.each<[string, readonly string[], object]>([
    ['a picture', ['--image', 'a.png'], { image: pngObject }],
    ['a picture in cloud storage', ['--image', 'gs://a/b.png'], { image: stored }],
    ['one of no known type', ['--last-frame', 'gs://a/b'], { lastFrame: { gcsUri: 'gs://a/b' } }],
    [
      'a stored reference',
      ['--reference', 'gs://a/b.png=style'],
      { referenceImages: [{ image: stored, referenceType: 'style' }] },
    ],
    ['a video', ['--video', 'a.webm'], { video: { encodedVideo: base64(webm), encoding: 'video/webm' } }],
    [
      'a video of the gateway',
      ['--video', 'https://g.example/v1beta/files/1:download?alt=media'],
      { video: { uri: 'https://g.example/v1beta/files/1:download?alt=media' } },
    ],
    [
      'a video in cloud storage',
      ['--video', 'gs://a/b.mp4'],
      { video: { gcsUri: 'gs://a/b.mp4', mimeType: 'video/mp4' } },
    ],
  ])('%s needs no prompt', async (_, words, instance) => {
    const context = { terminal: true }
    expect(await bodyOf(words, context)).toEqual({ instances: [instance], parameters: {} })
  })

  test('beside them a pipe is left alone, which is told', async () => {
    const stderr = memorySink()
    expect(await bodyOf(['--image', 'a.png'], { stdin: 'A boat', stderr })).toEqual({
      instances: [{ image: pngObject }],
      parameters: {},
    })
    expect(stderr.text).toBe('modelgate: No prompt was given; "-" as the prompt reads standard input.\n')
    const quiet = memorySink()
    await bodyOf(['--image', 'a.png', '-q'], { stdin: 'A boat', stderr: quiet })
    await bodyOf(['--image', '-'], { stdin: png, stderr: quiet })
    expect(quiet.text).toBe('')
    const { instances } = (await bodyOf(['--image', 'a.png', '-'], { stdin: 'A boat' })) as {
      instances: unknown[]
    }
    expect(instances).toEqual([{ prompt: 'A boat', image: pngObject }])
  })

  test('of a URL are fetched, without the key', async () => {
    const server = await localServer([closeDelimited([png])])
    const words = ['--image', `${server.url}/first`, '--allow-private-urls']
    const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'k-123' }
    expect(await bodyOf(words, { env })).toEqual({ instances: [{ image: pngObject }], parameters: {} })
    expect(server.requests[0]!.headers).not.toHaveProperty('authorization')
  })

  test('of a private address are refused, and what a URL leads to may be no picture', async () => {
    const page = await localServer([text('<html>no picture</html>')])
    const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'k-123' }
    const url = `${page.url}/first`
    const hidden = await refused(['--image', url, '--allow-private-urls'], { env })
    expect(hidden).toMatchObject({ exit: 2, code: 'wrong_type' })
    expect(hidden.lines[0]).toContain(`--image "${url}" is not a picture`)
    const refusal = await refused(['--image', 'http://169.254.1.1/x', 'A boat'], { env })
    expect(refusal.lines[0]).toMatch(/^--image "http:\/\/169\.254\.1\.1\/x": /)
  })

  test.each<[string, readonly string[], object]>([
    [
      'with an equals sign in their names',
      ['--reference', 'x=y.png', 'One'],
      { referenceImages: [{ image: pngObject, referenceType: 'asset' }] },
    ],
    ['of standard input', ['--image', '-', 'One'], { image: pngObject }],
    [
      'for one of --instances',
      ['--instances', '[{"prompt":"One"}]', '--image', 'a.png'],
      { image: pngObject },
    ],
  ])('%s go beside the prompt', async (_, words, pictures) => {
    const { instances } = await bodyOf(words, { stdin: png })
    expect(instances).toEqual([{ prompt: 'One', ...pictures }])
  })

  test('everything that is wrong with them is told at once, with the flags', async () => {
    const words = ['--image', 'none.png', '--last-frame', 'page.png', '--reference', 'empty.png', 'A boat']
    const { exit, lines } = await refused(words)
    expect([exit, lines.length]).toEqual([2, 3])
    expect(lines[0]).toMatch(/^--image: .*none\.png/)
    expect(lines[1]).toMatch(/^--last-frame "page\.png" is not a picture/)
    expect(lines[2]).toMatch(/^--reference: "empty\.png" is empty/)
  })
})

describe('several instances', () => {
  test('come from a file, each with its own', async () => {
    const { request } = await generate(['--instances', '@orders.json', '--sample-count', '2'])
    expect(request).toMatchObject({
      body: { instances: orders, parameters: { sampleCount: 2 } },
      prompt: 'One',
      count: 4,
      model: 'veo',
    })
  })

  test('the prompt goes into those that have none', async () => {
    const { request } = await generate(['--instances', '@half.json', 'Two'])
    expect(request.body['instances']).toEqual([{ prompt: 'One' }, { prompt: 'Two' }])
  })

  test.each<[string, readonly string[], RegExp]>([
    [
      'a prompt that none lacks',
      ['--instances', '@orders.json', 'A boat'],
      /--instances.*prompts of their own/,
    ],
    ['pictures for several', ['--instances', '@orders.json', '--image', 'a.png'], /--image.*--instances/],
    ['no list', ['--instances', '{"prompt":"x"}'], /--instances/],
    ['an empty list', ['--instances', '[]'], /--instances/],
    ['what is no object', ['--instances', '["x"]', 'A boat'], /--instances/],
    ['a broken file', ['--instances', '@broken.json'], /--instances.*broken\.json/],
  ])('%s is refused', async (_, argv, says) => {
    const { exit, lines } = await refused(argv)
    expect([exit, lines.join('\n')]).toEqual([2, expect.stringMatching(says)])
  })
})

test.each<[string, readonly string[], RegExp]>([
  ['half a second', ['--duration-seconds', '4.5'], /--duration-seconds/],
  ['a duration in words', ['--duration-seconds', 'long'], /--duration-seconds/],
  ['a name with a word in braces that means nothing', ['-o', '{what}.mp4'], /-o.*\{what\}/],
  ['a field without a name', ['--set', '=1'], /--set/],
  ['a wait that is no number', ['--poll-interval', 'soon'], /--poll-interval/],
])('%s is refused', async (_, argv, says) => {
  const { exit, lines } = await refused([...argv, 'A boat'])
  expect([exit, lines.join('\n')]).toEqual([2, expect.stringMatching(says)])
})

test('the model comes from the environment, and is missed', async () => {
  const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080' }
  const named = await videoCall(['generate', 'A boat'], { env: { ...env, MODELGATE_VIDEO_MODEL: 'e' }, cwd })
  expect(named.request.model).toBe('e')
  expect(await videoRefusal(['generate', 'A boat'], { cwd })).toMatchObject({ exit: 2 })
})
