import { beforeEach, describe, expect, test } from 'vitest'
import { gifBytes, jpegBytes, pngBytes, webpBytes } from '../support/image-bytes.ts'
import { gatewayOnly, imageCall, imageRefusal } from '../support/image-call.ts'
import { localServer } from '../support/local-server.ts'
import { end, head, readAll, text, write, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'

const png = pngBytes({ width: 3, height: 2 })

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'in.png': png, 'b.jpg': jpegBytes(), 'words.txt': 'from a file\n' })
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['is the words of the call', ['A', 'red', 'kite'], {}, 'A red kite'],
  ['is a file', ['@words.txt'], {}, 'from a file\n'],
  ['is standard input', ['-'], { stdin: 'piped' }, 'piped'],
  ['is a pipe', [], { stdin: 'piped' }, 'piped'],
  ['is the words alone beside a pipe', ['In', 'blue'], { stdin: 'A kite' }, 'In blue'],
  ['is of --body', ['--body', '{"prompt":"body"}'], {}, 'body'],
  ['of words outranks --body', ['--body', '{"prompt":"body"}', 'words'], {}, 'words'],
  ['of --set outranks all', ['--set', 'prompt="set"', 'words'], {}, 'set'],
  ['keeps what would be a dash or a token', ['A --x {index}'], {}, 'A --x {index}'],
])('the prompt %s', async (_, argv, more, prompt) => {
  const { request } = await imageCall(['create', '-m', 'm', ...argv], { cwd, ...more })
  expect([request.prompt, request.body['prompt']]).toEqual([prompt, prompt])
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['missing', [], {}, 'prompt_missing'],
  ['blank', [' \n'], {}, 'prompt_missing'],
  ['not text', ['-'], { stdin: png }, 'wrong_type'],
])('a prompt that is %s is refused', async (_, argv, more, code) => {
  const refused = await imageRefusal(['create', '-m', 'm', ...argv], { cwd, ...more })
  expect(refused).toMatchObject({ exit: 2, code })
})

const edit = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['edit', '-m', 'm', ...argv], { cwd, ...more })).request

describe('a source', () => {
  test('is a file, known by its bytes and not by its name', async () => {
    writeFiles(cwd, { 'really-webp.png': webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0, 0])) })
    const { sources } = await edit('--image in.png --image b.jpg --image really-webp.png x'.split(' '))
    const info = { width: 3, height: 2, hasAlpha: true }
    expect(sources).toMatchObject([
      { fileName: 'in.png', mediaType: 'image/png', label: 'in.png', bytes: png.length, info },
      { fileName: 'b.jpg', mediaType: 'image/jpeg', label: 'b.jpg' },
      { fileName: 'really-webp.png', mediaType: 'image/webp', label: 'really-webp.png' },
    ])
  })

  test('is standard input, and the prompt then is the words alone', async () => {
    const { prompt, sources } = await edit(['--image', '-', 'words'], { stdin: png })
    expect(prompt).toBe('words')
    expect(sources).toMatchObject([{ fileName: 'stdin.png', bytes: png.length, label: '-' }])
    const sent: Buffer[] = []
    // A chunk holds only until the next one comes.
    for await (const chunk of sources[0]!.open()) sent.push(Buffer.from(chunk))
    expect(Buffer.concat(sent)).toEqual(png)
  })

  test('is a data URL', async () => {
    const env = { ...gatewayOnly, MODELGATE_API_KEY: 'key' }
    const url = `data:image/gif;base64,${png.toString('base64')}`
    const { sources } = await edit(['--image', url, 'x'], { env })
    expect(sources).toMatchObject([{ mediaType: 'image/png', bytes: png.length, fileName: 'image.png' }])
  })

  test('may be the mask', async () => {
    const { sources } = await edit(['--image', 'in.png', '--mask', '-', 'x'], { stdin: png })
    expect(sources).toMatchObject([{ field: 'image' }, { field: 'mask', bytes: png.length }])
  })

  test.each<[readonly string[], number, RegExp, TestOverrides?]>([
    [[], 2, /^--image is missing: an edit starts from an image\.$/],
    [['--image', ''], 2, /^--image/],
    [['--image', 'nope.png'], 10, /^--image: "nope\.png" cannot be read/],
    [['--image', '.'], 10, /^--image: /],
    [['--image', '-'], 2, /^--image -: it is empty\.$/],
    [['--image', '-', '--image', '-'], 2, /--image - is given twice/, { stdin: png }],
    [['--image', '-', '--mask', '-'], 2, /both --image - and --mask - want it/, { stdin: png }],
    [['--image', 'words.txt'], 2, /^--image "words\.txt" is not an image that can be read/],
    [['--image', 'x1', '--image', 'x2'], 10, /"x1" [^\n]*\n--image: "x2"/],
    [['--image', 'x.png'], 2, /"x\.png" is image\/gif; gpt-image-2 takes image\/png, image\/webp, image\/jp/],
    [['--image', 'bad.png'], 2, /^--image "bad\.png" is not an image that can be read \(image\/png\)\.$/],
    [['--image', 'in.png', '--mask', 'b.jpg'], 2, /^--mask "b\.jpg" must be a PNG, not image\/jpeg\.$/],
  ])('is refused: %j', async (argv, exit, message, more) => {
    writeFiles(cwd, { 'x.png': gifBytes(), 'bad.png': png.subarray(0, 20) })
    const found = await imageRefusal(['edit', '-m', 'gpt-image-2', ...argv, 'x'], { cwd, ...more })
    expect([found.exit, found.lines.join('\n')]).toEqual([exit, expect.stringMatching(message)])
  })
})

describe('a source by URL', () => {
  const picture: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(png.length), 'content-type': 'text/plain' })),
    write(png),
    end,
  ]
  const env = (url: string) => ({ MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'secret-key' })

  test('of the gateway is fetched with the key', async () => {
    const server = await localServer([picture])
    const { sources } = await edit(['--image', `${server.url}/a`, 'x'], { env: env(server.url) })
    expect(sources).toMatchObject([{ mediaType: 'image/png', bytes: png.length, fileName: 'image.png' }])
    expect(server.requests[0]!.headers['authorization']).toBe('Bearer secret-key')
  })

  test.each<[string, (other: string) => string, readonly ServerReply[], RegExp]>([
    ['a private address', () => 'http://10.0.0.1/in.png', [], /10\.0\.0\.1 is not a public address/],
    ['an address with a password', () => 'http://me:pw@127.0.0.1/a', [], /user name or password/],
    ['something that is gone', (url) => `${url}/a`, [text('', { status: 410 })], /HTTP 410/],
    ['nothing', (url) => `${url}/a`, [text('')], /is empty/],
    ['a page', (url) => `${url}/a`, [text('<html>')], /is not an image that can be read/],
    ['broken base64', () => 'data:image/png;base64,%%%', [], /base64/],
  ])('that is %s is refused, naming the flag', async (_, urlFor, replies, message) => {
    const server = await localServer(replies)
    const words = ['edit', '-m', 'm', '--image', urlFor(server.url), 'x']
    const { exit, lines } = await imageRefusal(words, { cwd, env: env(server.url) })
    expect([exit, lines.join('\n')]).toEqual([2, expect.stringMatching(message)])
    expect(lines[0]).toMatch(/^--image /)
  })

  test('cannot be part of a command to paste', async () => {
    const words = ['edit', '-m', 'm', '--curl', '--image', 'http://127.0.0.1/in.png', 'x']
    const line = '--curl cannot show a request with images from URLs.'
    expect(await imageRefusal(words, { cwd })).toMatchObject({ exit: 2, lines: [line] })
  })
})

describe.each([
  ['create', []],
  ['edit', ['--image', 'in.png']],
])('%s: the model', (command, source) => {
  const call = (argv: readonly string[], env: Record<string, string> = {}) =>
    imageCall([command, ...source, ...argv, 'a dot'], { cwd, env: { ...gatewayOnly, ...env } })
  const fromEnv = { MODELGATE_IMAGE_MODEL: 'from-env' }
  const body = ['--body', '{"model":"from-body"}']
  const project = { '.git/HEAD': '', '.modelgaterc.yaml': 'image_model: from-file\n' }

  test.each<[string, string, readonly string[], Record<string, string>?]>([
    ['a flag', 'vendor/a:b', ['-m', 'vendor/a:b']],
    ['a file', 'from-file', []],
    ['the environment, over a file', 'from-env', [], fromEnv],
    ['a body, over the environment', 'from-body', body, fromEnv],
    ['a flag, over a body', 'from-flag', [...body, '-m', 'from-flag'], fromEnv],
    ['--set, over the environment', 'set', ['--set', 'model="set"'], fromEnv],
    ['--set, over a flag', 'set', ['--set', 'model="set"', '-m', 'from-flag']],
  ])('comes from %s, and nothing else is in the body', async (_, model, argv, env) => {
    writeFiles(cwd, project)
    const { request } = await call(argv, env)
    expect([request.model, request.body]).toEqual([model, { prompt: 'a dot', model }])
  })

  test('has the family that the configuration says', async () => {
    writeFiles(cwd, {
      ...project,
      '.modelgaterc.yaml': 'families: { mine: image-model-b, dall-e-2: none }\n',
    })
    const words = [command, ...source, '-m', 'mine', '--output-format', 'png', 'a dot']
    const { lines } = await imageRefusal(words, { cwd })
    expect(lines[0]).toBe('--output-format is not for mine (image-model-b).')
    expect((await call(['-m', 'dall-e-2', '--output-format', 'png'])).request.model).toBe('dall-e-2')
  })
})

test('all that is wrong is told at once, each with the flag to change', async () => {
  const words = 'create -m dall-e-3 -n 2 --size 512x512 --stream --quality low'.split(' ')
  expect(await imageRefusal([...words, 'x'.repeat(4001)], { cwd })).toEqual({
    exit: 2,
    code: 'invalid_request',
    hint: '--no-validate sends it anyway.',
    lines: [
      'prompt must have at most 4000 characters for dall-e-3 (image-model-c), not 4001.',
      '--n must be 1 for dall-e-3 (image-model-c), not 2.',
      '--stream is not for dall-e-3 (image-model-c).',
      '--quality must be one of auto, hd, standard for dall-e-3 (image-model-c), not "low".',
      '--size must be one of 1024x1024, 1792x1024, 1024x1792 for dall-e-3 (image-model-c), not "512x512".',
    ],
  })
})

test.each([[[]], [['--sandbox']]])('create without a model lets the gateway choose: %j', async (more) => {
  const argv = ['create', ...more, ...'--size 256x256 --style vivid --output-format webp dot'.split(' ')]
  const { request } = await imageCall(argv, { cwd })
  expect([request.model, 'model' in request.body, request.warnings]).toEqual([null, false, []])
})

// Specification, endpoint 6: the fields of <image_model_a> only.
test.each([
  ['', 'image-model-b, the default of an edit'],
  ['--background opaque', 'image-model-a, because of --background'],
  ['--input-fidelity high', 'image-model-a, because of --input-fidelity'],
  ['--output-compression 100 --output-format jpeg', 'image-model-a, because of --output-compression'],
  ['--output-format png', 'image-model-a, because of --output-format'],
])('an edit without a model, with %j, is left to the gateway, and told: %s', async (words, expected) => {
  const argv = ['edit', '--image', 'in.png', ...words.split(' ').filter(Boolean), 'a dot']
  const { request } = await imageCall(argv, { cwd })
  expect([request.model, 'model' in request.body]).toEqual([null, false])
  expect(request.warnings).toEqual([
    `No model was given: the gateway is expected to take ${expected}. Give one with -m.`,
  ])
})

const current = 'gpt-image-2, gpt-image-2.5'

test.each([
  ['create', 'sora-2', 'video-model-remix', `image-model-b, image-model-c, ${current}`],
  ['create', 'video-model-remix', 'video-model-remix', `image-model-b, image-model-c, ${current}`],
  ['edit', 'sora-2-pro', 'video-model-remix', `image-model-b, ${current}`],
  ['edit', 'dall-e-3', 'image-model-c', `image-model-b, ${current}`],
])('%s refuses %s, of which it makes nothing', async (command, model, family, taken) => {
  const words = [command, '-m', model, ...(command === 'edit' ? ['--image', 'in.png'] : []), 'a dot']
  expect(await imageRefusal(words, { cwd })).toMatchObject({
    exit: 2,
    lines: [
      `-m "${model}" belongs to ${family}; this command takes models of image-model-a, image-model-a-mini, ${taken}.`,
    ],
  })
  expect((await imageCall([...words, '--no-validate'], { cwd })).request.model).toBe(model)
})

const call = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['create', '-m', 'gpt-image-2', ...argv, 'A Red Kite'], { cwd, ...more })).request

const refusal = (argv: readonly string[], more: TestOverrides = {}) =>
  imageRefusal(['create', '-m', 'gpt-image-2', ...argv, 'A Red Kite'], { cwd, ...more })

/** The paths of the images that a call would make. */
async function paths(argv: readonly string[], more: TestOverrides = {}): Promise<readonly string[]> {
  const { outputs, wanted } = await call(argv, more)
  return wanted.map((index) => outputs.pathFor({ index, extension: 'webp', id: 'id-1' }))
}

test('output_dir of the configuration is for files that -o does not name', async () => {
  writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'output_dir: art\n', 'art/.keep': '' })
  expect((await paths([]))[0]).toMatch(/art\/a-red-kite-[0-9a-f]{8}\.webp$/)
  expect(await paths(['-o', 'a.png'])).toEqual(['a.png'])
})

test.each<[readonly string[], number, string]>([
  [['-o', 'taken.png'], 10, '"taken.png" already exists.'],
  [['-o', 't.png', '-n', '2'], 10, '"t-2.png" already exists.'],
  [['-o', 'new.png', '--sidecar'], 10, '"new.png.json" already exists.'],
  [['-o', '{slug}.png', '-n', '2'], 2, '-o "{slug}.png" gives all 2 images the same name.'],
])('%j is refused before anything is sent', async (argv, exit, line) => {
  writeFiles(cwd, { 'taken.png': 'x', 't-2.png': 'x', 'new.png.json': 'x' })
  expect(await refusal(argv)).toMatchObject({ exit, lines: [line] })
})

test('--force takes names that are taken', async () => {
  writeFiles(cwd, { 'taken.png': 'x', 'taken.png.json': 'x' })
  expect(await paths(['-o', 'taken.png', '--sidecar', '--force'])).toEqual(['taken.png'])
})

test.each<[readonly string[], string]>([
  [['-o', '-', '--json'], '-o - and --json would both write to standard output.'],
  [['-o', '-', '--jsonl'], '-o - and --jsonl would both write to standard output.'],
  [['-o', '-', '--raw'], '-o - and --raw would both write to standard output.'],
  [['-o', '-', '--sidecar'], '-o - makes no file, so --sidecar does not apply.'],
  [['-o', '-', '--save-partials'], '-o - makes no file, so --save-partials does not apply.'],
  [['-o', '-', '--skip-existing'], '-o - makes no file, so --skip-existing does not apply.'],
  [['--no-download', '-o', 'a.png'], '--no-download saves nothing, so -o does not apply.'],
  [['--no-download', '--sidecar'], '--no-download saves nothing, so --sidecar does not apply.'],
  [['--no-download', '--skip-existing'], '--no-download saves nothing, so --skip-existing does not apply.'],
  [['--raw', '-o', 'a.png'], '--raw saves nothing, so -o does not apply.'],
  [['--raw', '--sidecar'], '--raw saves nothing, so --sidecar does not apply.'],
  [['--raw', '--skip-existing'], '--raw saves nothing, so --skip-existing does not apply.'],
  [['--raw', '--save-partials'], '--raw saves nothing, so --save-partials does not apply.'],
  [['-o', '{id}.png', '--skip-existing'], expect.stringContaining('{id}') as string],
  [['--preview', 'ascii'], '--preview must be one of auto, kitty, iterm, blocks, off, not "ascii".'],
  [['--force', '--skip-existing'], '--force and --skip-existing cannot be used together.'],
])('what excludes each other is refused, both flags named: %j', async (argv, line) => {
  expect(await refusal(argv)).toMatchObject({ exit: 2, lines: [line] })
})

test('-o - is not for a terminal', async () => {
  const line = '-o - would write the bytes of an image to the terminal.'
  expect(await refusal(['-o', '-'], { terminal: true })).toMatchObject({ exit: 2, lines: [line] })
  expect((await call(['-o', '-'])).outputs.toStandardOutput).toBe(true)
})

test('--skip-existing knows the name that the format gives', async () => {
  writeFiles(cwd, { 'a.jpg': pngBytes(), 'a.webp': pngBytes() })
  const of = async (format: string) =>
    (await call(['-o', 'a.{ext}', '--output-format', format, '--skip-existing'])).existing
  expect(await of('jpeg')).toMatchObject([{ file: { path: 'a.jpg' } }])
  expect(await of('webp')).toMatchObject([{ file: { path: 'a.webp' } }])
  expect(await of('png')).toEqual([])
})

test('a number of images that --no-validate lets through is sent as it is', async () => {
  for (const n of ['0', '-1', '11', '1000000000']) {
    const { body, wanted } = await call(['-n', n, '--no-validate'])
    expect(body['n']).toBe(Number(n))
    expect(wanted.length).toBeGreaterThan(0)
  }
})

describe('the extension of -o', () => {
  const format = async (...argv: string[]) => {
    const { request } = await imageCall(['create', ...argv, 'A Red Kite'], { cwd })
    return request.body['output_format']
  }

  test.each([
    ['a.webp', 'webp'],
    ['a.jpg', 'jpeg'],
    ['a.JPEG', 'jpeg'],
    ['a-{index}.png', 'png'],
    ['a.{ext}', undefined],
    ['a', undefined],
    ['a.v2', undefined],
    ['-', undefined],
    ['shots.webp/', undefined],
    ['folder.png', undefined],
  ])('of %s asks for %s', async (name, expected) => {
    writeFiles(cwd, { 'shots.webp/.keep': '', 'folder.png/.keep': '' })
    for (const model of ['gpt-image-1', 'image-model-a-mini']) {
      expect(await format('-m', model, '-o', name)).toBe(expected)
    }
    expect(await format('-m', 'my-own', '-o', name)).toBe(undefined)
    // PNG is the default of the field: it need not decide which model is chosen.
    expect(await format('-o', name)).toBe(expected === 'png' ? undefined : expected)
  })

  test.each([
    ['-m dall-e-2 -o a.webp', /^-o "a\.webp" names image\/webp; dall-e-2.* delivers only image\/png\.$/],
    ['-m dall-e-3 -o a-{index}.jpg', /names image\/jpeg; dall-e-3.* delivers only image\/png\.$/],
    ['-m gpt-image-1 -o a.gif', / delivers only image\/png, image\/jpeg, image\/webp\.$/],
    ['-m gpt-image-1 -o a.webp --output-format png', /image\/webp, but --output-format asks for png\.$/],
    ['-m my-own -o a.webp --output-format png', /but --output-format asks for png\.$/],
    ['-m gpt-image-2 -o a.mp4', /^-o "a\.mp4" names video\/mp4; gpt-image-2 delivers only /],
    ['-o a.png --body {"output_format":"webp"}', /but --output-format asks for webp\.$/],
  ])('is refused where it cannot be: %s', async (words, message) => {
    const argv = ['create', ...words.split(' '), 'kite']
    expect(await imageRefusal(argv, { cwd })).toMatchObject({
      exit: 2,
      lines: [expect.stringMatching(message)],
      hint: 'Change the extension; with {ext} in its place the name gets that of the image.',
    })
    await expect(imageCall([...argv, '--no-validate'], { cwd })).resolves.toBeDefined()
  })
})
