import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkInputs } from '../../../src/pipeline/execute/check-inputs.ts'
import type { UpstreamResult } from '../../../src/pipeline/execute/task.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { filesField, instanceOf, textField, textOfField } from '../../support/pipeline-task.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { maskPng, testImages } from '../../support/test-images.ts'

async function problemsOf(
  instance: Parameters<typeof instanceOf>[0],
  {
    files = {},
    upstream = {},
  }: { files?: Record<string, string | Uint8Array>; upstream?: Record<string, string> } = {},
) {
  const folder = temporaryFolder()
  const { png, jpeg } = await testImages(64)
  writeFiles(folder, {
    'a.png': png,
    'b.jpg': jpeg,
    'mask.png': await maskPng(64),
    'words.txt': 'words',
    ...files,
  })
  const made = Object.entries(upstream).map(([name, path]): [string, UpstreamResult] => [
    name,
    { files: [{ path: join(folder, path), sha256: '', media_type: '' }], jobId: null },
  ])
  const checked: Instance = instanceOf(instance)
  const context = testContext({ cwd: '/nowhere' })
  return checkInputs(context, checked, { folder, upstream: new Map(made) }, {})
}

const edit = (fields: Instance['fields']) => ({
  command: 'image edit',
  model: 'image-model-a',
  fields: { prompt: textField('Wide'), ...fields },
})
const video = (fields: Instance['fields']) => ({ command: 'video generate', fields })
const caption = (fields: Instance['fields']) => ({ command: 'respond', fields })

test.for<[string, Parameters<typeof instanceOf>[0], string[]]>([
  ['an edit', edit({ image: filesField('a.png', 'b.jpg'), mask: filesField('mask.png') }), []],
  ['a video', video({ image: filesField('a.png'), reference: filesField('b.jpg') }), []],
  ['a caption', caption({ attach: filesField('a.png', 'words.txt') }), []],
  ['what is still to be made', video({ image: filesField('@hero'), prompt: textOfField('@words') }), []],
  [
    'a mask beside what is still to be made',
    edit({ image: filesField('@hero'), mask: filesField('mask.png') }),
    [],
  ],
  [
    'a picture that is none',
    edit({ image: filesField('words.txt') }),
    ['image "words.txt" is not a picture that can be read (text/plain).'],
  ],
  [
    'a first frame that is none',
    video({ image: filesField('words.txt') }),
    ['image "words.txt" is not a picture but text/plain.'],
  ],
  [
    'a video that is none',
    video({ video: filesField('a.png') }),
    ['video "a.png" is not a video but image/png.'],
  ],
  [
    'a mask that is no PNG',
    edit({ image: filesField('@hero'), mask: filesField('b.jpg') }),
    ['mask "b.jpg" must be a PNG, not image/jpeg.'],
  ],
])('%s', async ([, instance, problems]) => {
  expect(await problemsOf(instance)).toEqual(problems)
})

test('every missing file is told, each with its field', async () => {
  const found = await problemsOf(video({ image: filesField('x.png'), last_frame: filesField('y.png') }))
  expect(found).toHaveLength(2)
  expect(found[0]).toMatch(/^image: .*x\.png/)
  expect(found[1]).toMatch(/^last_frame: .*y\.png/)
})

test('the limits of the model hold for what another job has made', async () => {
  const instance = { ...edit({ image: filesField('@hero') }), model: 'image-model-b' }
  const found = await problemsOf(instance, { upstream: { '@hero': 'b.jpg' } })
  expect(found).toEqual([expect.stringMatching(/b\.jpg" is image\/jpeg; image-model-b takes image\/png\.$/)])
})

test('a prompt that another job has made has to be a text', async () => {
  const instance = caption({ input: textOfField('@hero') })
  expect(await problemsOf(instance, { upstream: { '@hero': 'words.txt' } })).toEqual([])
  expect(await problemsOf(instance, { upstream: { '@hero': 'a.png' } })).toEqual([
    expect.stringMatching(/^input: .*a\.png" is not a text in UTF-8\.$/),
  ])
})
