import { beforeEach, expect, test } from 'vitest'
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
    'words.txt': 'from a file\n',
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

test.each(Object.entries(videoOperationEndpoint.fields['parameters']!.fields!))(
  'parameters.%s has a flag',
  async (name, field) => {
    const { words, value } = sampleFor(field)
    const body = await bodyOf([`--${flagName(name)}`, ...words, 'A boat'])
    expect(body).toEqual({ instances: [{ prompt: 'A boat' }], parameters: { [name]: value } })
  },
)

test('pictures become base64 with the type that their bytes tell', async () => {
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

const download = 'https://g.example/v1beta/files/1:download?alt=media'
const asset = { image: pngObject, referenceType: 'asset' }

test.each<[readonly string[], object, TestOverrides?]>([
  [['--image', 'a.png'], { image: pngObject }],
  [['--image', 'gs://a/b.png'], { image: stored }],
  [['--last-frame', 'gs://a/b'], { lastFrame: { gcsUri: 'gs://a/b' } }],
  [['--reference', 'gs://a/b.png=style'], { referenceImages: [{ image: stored, referenceType: 'style' }] }],
  [['--video', 'a.webm'], { video: { encodedVideo: base64(webm), encoding: 'video/webm' } }],
  [['--video', download], { video: { uri: download } }],
  [['--video', 'gs://a/b.mp4'], { video: { gcsUri: 'gs://a/b.mp4', mimeType: 'video/mp4' } }],
  [['--reference', 'x=y.png', 'One'], { prompt: 'One', referenceImages: [asset] }],
  [['--image', '-', 'One'], { prompt: 'One', image: pngObject }, { stdin: png }],
  [['--image', 'a.png', '-'], { prompt: 'One', image: pngObject }, { stdin: 'One' }],
  [['--instances', '[{"prompt":"One"}]', '--image', 'a.png'], { prompt: 'One', image: pngObject }],
])('%j needs no prompt, and takes one', async (words, instance, more = { terminal: true }) => {
  expect(await bodyOf(words, more)).toEqual({ instances: [instance], parameters: {} })
})

test.each<[string, string | Uint8Array, string]>([
  ['--image a.png', 'A boat', 'modelgate: No prompt was given; "-" as the prompt reads standard input.\n'],
  ['--image a.png -q', 'A boat', ''],
  ['--image -', png, ''],
])('beside pictures a pipe is left alone, which is told: %s', async (words, stdin, told) => {
  const stderr = memorySink()
  const instances = [{ image: pngObject }]
  expect(await bodyOf(words.split(' '), { stdin, stderr })).toEqual({ instances, parameters: {} })
  expect(stderr.text).toBe(told)
})

const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'k-123' }

test('pictures of a URL are fetched, without the key', async () => {
  const server = await localServer([closeDelimited([png])])
  const words = ['--image', `${server.url}/first`, '--allow-private-urls']
  expect(await bodyOf(words, { env })).toEqual({ instances: [{ image: pngObject }], parameters: {} })
  expect(server.requests[0]!.headers).not.toHaveProperty('authorization')
})

test('pictures of a private address are refused, and what a URL leads to may be none', async () => {
  const page = await localServer([text('<html>no picture</html>')])
  const url = `${page.url}/first`
  expect(await refused(['--image', url, '--allow-private-urls'], { env })).toMatchObject({
    exit: 2,
    code: 'wrong_type',
    lines: [expect.stringContaining(`--image "${url}" is not a picture`)],
  })
  const { lines } = await refused(['--image', 'http://169.254.1.1/x', 'A boat'], { env })
  expect(lines[0]).toMatch(/^--image "http:\/\/169\.254\.1\.1\/x": /)
})

test('everything that is wrong with pictures is told at once, with the flags', async () => {
  const words = ['--image', 'none.png', '--last-frame', 'page.png', '--reference', 'empty.png', 'A boat']
  const problems = [
    /^--image: .*none\.png/,
    /^--last-frame "page\.png" is not a pict/,
    /^--reference: "empty\.png" is/,
  ]
  const lines = problems.map((problem) => expect.stringMatching(problem) as string)
  expect(await refused(words)).toMatchObject({ exit: 2, lines })
})

test('several instances come from a file, each with its own', async () => {
  const { request } = await generate(['--instances', '@orders.json', '--sample-count', '2'])
  const body = { instances: orders, parameters: { sampleCount: 2 } }
  expect(request).toMatchObject({ body, prompt: 'One', count: 4, model: 'veo' })
})

test('the prompt goes into the instances that have none', async () => {
  const instances = [{ prompt: 'One' }, { prompt: 'Two' }]
  expect(await bodyOf(['--instances', '@half.json', 'Two'])).toMatchObject({ instances })
})

test.each<[readonly string[], RegExp]>([
  [['--instances', '@orders.json', 'A boat'], /--instances.*prompts of their own/],
  [['--instances', '@orders.json', '--image', 'a.png'], /--image.*--instances/],
  [['--instances', '{"prompt":"x"}'], /--instances/],
  [['--instances', '[]'], /--instances/],
  [['--instances', '["x"]', 'A boat'], /--instances/],
  [['--instances', '@broken.json'], /--instances.*broken\.json/],
  [['--duration-seconds', '4.5', 'A boat'], /--duration-seconds/],
  [['--duration-seconds', 'long', 'A boat'], /--duration-seconds/],
  [['-o', '{what}.mp4', 'A boat'], /-o.*\{what\}/],
  [['--set', '=1', 'A boat'], /--set/],
  [['--poll-interval', 'soon', 'A boat'], /--poll-interval/],
])('%j is refused', async (argv, says) => {
  const { exit, lines } = await refused(argv)
  expect([exit, lines.join('\n')]).toEqual([2, expect.stringMatching(says)])
})

test('the model comes from the environment, and is missed', async () => {
  const named = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_VIDEO_MODEL: 'e' }
  expect((await videoCall(['generate', 'A boat'], { env: named, cwd })).request.model).toBe('e')
  expect(await videoRefusal(['generate', 'A boat'], { cwd })).toMatchObject({ exit: 2 })
})

const remix = (argv: readonly string[], more: TestOverrides = {}) =>
  videoCall(['remix', '-m', 'sora-2', ...argv], { cwd, ...more })

test.each(['video_1', '--last'])('behind %s every word belongs to the prompt', async (id) => {
  const body = { model: 'sora-2', prompt: 'Make it night' }
  expect(await remix([id, 'Make', 'it', 'night'])).toMatchObject({
    source: id === '--last' ? undefined : id,
    request: { kind: 'video', count: 1, body },
  })
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['is a file', ['video_1', '@words.txt'], {}, 'from a file\n'],
  ['is standard input', ['video_1', '-'], { stdin: 'piped' }, 'piped'],
  ['is a pipe', ['video_1'], { stdin: 'piped' }, 'piped'],
  ['is a pipe with --last', ['--last'], { stdin: 'piped' }, 'piped'],
  ['is of --body', ['video_1', '--body', '{"prompt":"body"}'], {}, 'body'],
  ['of words outranks --body', ['video_1', '--body', '{"prompt":"body"}', 'words'], {}, 'words'],
  ['of --set outranks all', ['video_1', '--set', 'prompt="set"', 'words'], {}, 'set'],
])('the prompt of a remix %s', async (_, argv, more, prompt) => {
  const { request } = await remix(argv, more)
  expect(request.body).toEqual({ model: 'sora-2', prompt })
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['no video', [], {}, 'usage'],
  ['an empty id', ['', 'words'], {}, 'usage'],
  ['no prompt', ['video_1'], {}, 'prompt_missing'],
  ['an empty prompt', ['video_1', ''], {}, 'prompt_missing'],
  ['a prompt that is too long', ['video_1', 'x'.repeat(32_001)], {}, 'invalid_request'],
])('a remix with %s is refused', async (_, argv, more, code) => {
  const refused = await videoRefusal(['remix', '-m', 'sora-2', ...argv], { cwd, ...more })
  expect(refused).toMatchObject({ exit: 2, code })
})

test('a remix by a model of another family is refused, and sent with --no-validate', async () => {
  const words = ['remix', '-m', 'gpt-image-2', 'video_1', 'Make it night']
  const lines = [expect.stringContaining('gpt-image-2') as string]
  expect(await videoRefusal(words, { cwd })).toMatchObject({ exit: 2, lines })
  expect((await videoCall([...words, '--no-validate'], { cwd })).request.model).toBe('gpt-image-2')
})
