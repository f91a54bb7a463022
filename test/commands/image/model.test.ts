import { beforeEach, describe, expect, test } from 'vitest'
import { families } from '../../../src/contract/families.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../../src/contract/images.ts'
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

  test('of the text commands is not taken', async () => {
    const env = { ...gatewayOnly, MODELGATE_TEXT_MODEL: 'words' }
    const model = await imageCall([...words, 'a dot'], { cwd, env }).then(
      ({ request }) => request.model,
      (error: { code: string }) => error.code,
    )
    expect(['model_missing', 'image-model-b']).toContain(model)
  })

  test('has the family that the configuration says', async () => {
    writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'families: { mine: image-model-b }\n' })
    const { lines } = await imageRefusal([...words, '-m', 'mine', '--output-format', 'png', 'a dot'], { cwd })
    expect(lines[0]).toBe('--output-format is not for image-model-b.')
    writeFiles(cwd, { '.modelgaterc.yaml': 'families: { dall-e-2: none }\n' })
    expect(await modelOf(['-m', 'dall-e-2', '--output-format', 'png'])).toEqual(['dall-e-2', 'dall-e-2'])
  })
})

test('create without a model says how to name one', async () => {
  expect(await imageRefusal(['create', 'a dot'], { cwd })).toMatchObject({
    exit: 2,
    code: 'model_missing',
    hint: 'Give one with -m, MODELGATE_IMAGE_MODEL, or image_model in the configuration.',
  })
})

test('the sandbox has a model of its own to create with', async () => {
  const { request } = await imageCall(['create', '--sandbox', 'a dot'], { cwd, env: {} })
  expect([request.model, request.body['model']]).toEqual(['image-model-a', 'image-model-a'])
})

describe('an edit without a model', () => {
  const edit = (...argv: string[]) => imageCall(['edit', '--image', 'a.png', ...argv, 'a dot'], { cwd })

  test('is one of model B, said aloud, and the gateway is left to its default', async () => {
    const { request } = await edit()
    expect(request.model).toBe('image-model-b')
    expect('model' in request.body).toBe(false)
    expect(request.warnings).toEqual([
      'No model was given: the gateway takes image-model-b, the default of an edit. Give one with -m.',
    ])
  })

  const { 'image-model-b': legacy = {} } = imageEditEndpoint.families ?? {}
  const special = Object.keys(legacy).filter((name) => legacy[name] === false)

  test.each(special)('is one of model A because of %s', async (name) => {
    const words = sampleFor(imageEditEndpoint.fields[name]!).words
    const format = name === 'output_format' ? [] : ['--output-format', 'jpeg']
    const more = name === 'background' ? ['--background', 'opaque'] : [`--${flagName(name)}`, ...words]
    const { request } = await edit(...more, ...(name === 'output_compression' ? format : []))
    expect(request.model).toBe('image-model-a')
    expect('model' in request.body).toBe(false)
    expect(request.warnings).toEqual([
      `No model was given: the gateway takes image-model-a, because of --${flagName(name)}. Give one with -m.`,
    ])
  })

  test('is held to the rules of the family that it will have', async () => {
    const { lines } = await imageRefusal(['edit', '--image', 'a.png', '--size', '1536x1024', 'a dot'], {
      cwd,
    })
    expect(lines).toEqual(['--size must be one of 256x256, 512x512, 1024x1024, not "1536x1024".'])
    const words = ['edit', '--image', 'a.png', '--input-fidelity', 'low', '--response-format', 'url', 'a dot']
    expect((await imageRefusal(words, { cwd })).lines).toEqual([
      '--response-format is not for image-model-a.',
    ])
  })

  test('says nothing when a model is named', async () => {
    expect((await edit('-m', 'gpt-image-1')).request.warnings).toEqual([])
  })
})

const others = (endpoint: typeof imageCreateEndpoint) =>
  families.filter(({ id }) => endpoint.families?.[id] === undefined).flatMap(({ models }) => models)

test.each(others(imageCreateEndpoint))('create refuses %s, which makes no images', async (model) => {
  const { exit, lines } = await imageRefusal(['create', '-m', model, 'a dot'], { cwd })
  expect(exit).toBe(2)
  expect(lines).toEqual([
    `-m "${model}" is of video-model-remix; this command takes models of image-model-a, image-model-a-mini, image-model-b, image-model-c.`,
  ])
})

test.each(others(imageEditEndpoint))('edit refuses %s, which edits no images', async (model) => {
  const words = ['edit', '-m', model, '--image', 'a.png', 'a dot']
  const { exit, lines } = await imageRefusal(words, { cwd })
  expect(exit).toBe(2)
  expect(lines[0]).toMatch(
    /^-m "[\w-]+" is of (image-model-c|video-model-remix); this command takes models of image-model-a, image-model-a-mini, image-model-b\.$/,
  )
  expect((await imageCall([...words, '--no-validate'], { cwd })).request.model).toBe(model)
})
