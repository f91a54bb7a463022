import { beforeEach, describe, expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { gatewayOnly, imageCall, imageRefusal } from '../../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
})

describe.each([
  ['create', []],
  ['edit', ['--image', 'a.png']],
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
    expect((await imageRefusal(words, { cwd })).lines).toEqual([
      '--output-format is not for mine (image-model-b).',
    ])
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
  [[], 'image-model-b, the default of an edit'],
  [['--background', 'opaque'], 'image-model-a, because of --background'],
  [['--input-fidelity', 'high'], 'image-model-a, because of --input-fidelity'],
  [
    ['--output-compression', '100', '--output-format', 'jpeg'],
    'image-model-a, because of --output-compression',
  ],
  [['--output-format', 'png'], 'image-model-a, because of --output-format'],
])('an edit without a model, with %j, is left to the gateway, and told: %s', async (argv, expected) => {
  const { request } = await imageCall(['edit', '--image', 'a.png', ...argv, 'a dot'], { cwd })
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
  const words = [command, '-m', model, ...(command === 'edit' ? ['--image', 'a.png'] : []), 'a dot']
  expect(await imageRefusal(words, { cwd })).toMatchObject({
    exit: 2,
    lines: [
      `-m "${model}" belongs to ${family}; this command takes models of image-model-a, image-model-a-mini, ${taken}.`,
    ],
  })
  expect((await imageCall([...words, '--no-validate'], { cwd })).request.model).toBe(model)
})
