import { beforeEach, describe, expect, test } from 'vitest'
import { imageEditEndpoint } from '../../../src/contract/images.ts'
import { flagName } from '../../../src/contract/field.ts'
import { sampleFor } from '../../support/contract-samples.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { gatewayOnly, imageCall, imageRefusal } from '../../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
})

const commands = [
  ['create', ['create']],
  ['edit', ['edit', '--image', 'a.png']],
] as const

describe.each(commands)('%s: the model', (_, words) => {
  const modelOf = async (argv: readonly string[], env: Record<string, string> = {}) => {
    const { request } = await imageCall([...words, ...argv, 'a dot'], {
      cwd,
      env: { ...gatewayOnly, ...env },
    })
    return [request.model, request.body['model']]
  }
  const fromEnv = { MODELGATE_IMAGE_MODEL: 'from-env' }

  test('comes from -m, the environment, a file or --body', async () => {
    expect(await modelOf(['-m', 'vendor/a:b'])).toEqual(['vendor/a:b', 'vendor/a:b'])
    expect(await modelOf([], fromEnv)).toEqual(['from-env', 'from-env'])
    expect(await modelOf(['--body', '{"model":"from-body"}'])).toEqual(['from-body', 'from-body'])
    writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'image_model: from-file\n' })
    expect(await modelOf([])).toEqual(['from-file', 'from-file'])
  })

  test('of --body outranks the environment, and -m outranks both', async () => {
    const body = ['--body', '{"model":"from-body"}']
    expect(await modelOf(body, fromEnv)).toEqual(['from-body', 'from-body'])
    expect(await modelOf([...body, '-m', 'from-flag'], fromEnv)).toEqual(['from-flag', 'from-flag'])
  })

  test('of --set is the one that is sent and reported', async () => {
    expect(await modelOf(['--set', 'model="set"'], fromEnv)).toEqual(['set', 'set'])
    expect(await modelOf(['--set', 'model="set"', '-m', 'from-flag'])).toEqual(['set', 'set'])
  })

  test('has the family that the configuration says', async () => {
    writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'families: { mine: image-model-b }\n' })
    const { lines } = await imageRefusal([...words, '-m', 'mine', '--output-format', 'png', 'a dot'], { cwd })
    expect(lines[0]).toBe('--output-format is not for mine (image-model-b).')
    writeFiles(cwd, { '.modelgaterc.yaml': 'families: { dall-e-2: none }\n' })
    expect(await modelOf(['-m', 'dall-e-2', '--output-format', 'png'])).toEqual(['dall-e-2', 'dall-e-2'])
  })
})

test.each([[[]], [['--sandbox']]])('create without a model lets the gateway choose: %j', async (more) => {
  const argv = ['create', ...more, ...'--size 256x256 --style vivid --output-format webp dot'.split(' ')]
  const { request } = await imageCall(argv, { cwd })
  expect(request.model).toBe(null)
  expect('model' in request.body).toBe(false)
  expect(request.warnings).toEqual([])
})

describe('an edit without a model', () => {
  const edit = (...argv: string[]) => imageCall(['edit', '--image', 'a.png', ...argv, 'a dot'], { cwd })
  const warningOf = (model: string, reason: string) =>
    `No model was given: the gateway is expected to take ${model}, ${reason}. Give one with -m.`

  test('names the model that the specification has for it, and leaves it to the gateway', async () => {
    const { request } = await edit()
    expect(request.model).toBe(null)
    expect('model' in request.body).toBe(false)
    expect(request.warnings).toEqual([warningOf('image-model-b', 'the default of an edit')])
  })

  // Specification, endpoint 6: the fields of <image_model_a> only.
  const special = ['background', 'input_fidelity', 'output_compression', 'output_format']

  test.each(special)('is expected to be one of model A because of %s', async (name) => {
    const words = sampleFor(imageEditEndpoint.fields[name]!).words
    const format = name === 'output_format' ? [] : ['--output-format', 'jpeg']
    const more = name === 'background' ? ['--background', 'opaque'] : [`--${flagName(name)}`, ...words]
    const { request } = await edit(...more, ...(name === 'output_compression' ? format : []))
    expect('model' in request.body).toBe(false)
    expect(request.warnings).toEqual([warningOf('image-model-a', `because of --${flagName(name)}`)])
  })
})

const video = ['video-model-remix', 'sora-2', 'sora-2-pro']

test.each(video)('create refuses %s, which makes no images', async (model) => {
  const { exit, lines } = await imageRefusal(['create', '-m', model, 'a dot'], { cwd })
  expect(exit).toBe(2)
  expect(lines).toEqual([
    `-m "${model}" belongs to video-model-remix; this command takes models of image-model-a, image-model-a-mini, image-model-b, image-model-c, gpt-image-2, gpt-image-2.5.`,
  ])
})

test.each([...video, 'image-model-c', 'dall-e-3'])(
  'edit refuses %s, which edits no images',
  async (model) => {
    const words = ['edit', '-m', model, '--image', 'a.png', 'a dot']
    const { exit, lines } = await imageRefusal(words, { cwd })
    expect(exit).toBe(2)
    expect(lines[0]).toMatch(
      /^-m "[\w-]+" belongs to (image-model-c|video-model-remix); this command takes models of image-model-a, image-model-a-mini, image-model-b, gpt-image-2, gpt-image-2\.5\.$/,
    )
    expect((await imageCall([...words, '--no-validate'], { cwd })).request.model).toBe(model)
  },
)
