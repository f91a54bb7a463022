import { beforeEach, expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { imageCall, imageRefusal, type ImageCommandName } from '../../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
})

/** A call for a model of no known family: all fields are allowed. */
function call(command: ImageCommandName, words: readonly string[]): readonly string[] {
  const source = command === 'edit' ? ['--image', 'a.png'] : []
  return [command, '-m', 'some-model', ...source, ...words, 'a dot']
}

const bodyOf = async (command: ImageCommandName, words: readonly string[]) =>
  (await imageCall(call(command, words), { cwd })).request.body

test.each(['create', 'edit'] as const)(
  'a field of %s that no flag names is not in the body',
  async (command) => {
    expect(await bodyOf(command, [])).toEqual({ prompt: 'a dot', model: 'some-model' })
  },
)

test('all that is wrong is told at once, each with the flag to change', async () => {
  const words = 'create -m dall-e-3 -n 2 --size 512x512 --stream --quality low'.split(' ')
  const { exit, code, lines, hint } = await imageRefusal([...words, 'x'.repeat(4001)], { cwd })
  expect([exit, code, hint]).toEqual([2, 'invalid_request', '--no-validate sends it anyway.'])
  expect(lines).toEqual([
    'prompt must have at most 4000 characters for dall-e-3 (image-model-c), not 4001.',
    '--n must be 1 for dall-e-3 (image-model-c), not 2.',
    '--stream is not for dall-e-3 (image-model-c).',
    '--quality must be one of auto, hd, standard for dall-e-3 (image-model-c), not "low".',
    '--size must be one of 1024x1024, 1792x1024, 1024x1792 for dall-e-3 (image-model-c), not "512x512".',
  ])
})
