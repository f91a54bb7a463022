import { expect, test } from 'vitest'
import { checkBody, ignoredAdvice } from '../../src/contract/field.ts'
import { imageCreateEndpoint } from '../../src/contract/images.ts'
import { modelCalled } from '../../src/contract/known-models.ts'
import { responsesEndpoint } from '../../src/contract/responses.ts'

const broken = (id: string, body: Record<string, unknown>) =>
  checkBody(imageCreateEndpoint, { prompt: 'a dot', ...body }, modelCalled(id))

const transparent = {
  path: 'background',
  kind: 'requires',
  problem: 'a transparent background needs the output format png or webp',
  other: 'output_format',
}
const compressed = {
  path: 'output_compression',
  kind: 'requires',
  problem: 'output_compression applies to the output formats webp and jpeg only',
  other: 'output_format',
}

test.each<[Record<string, unknown>, unknown[]]>([
  [{ background: 'opaque', output_format: 'jpeg' }, []],
  [{ background: 'transparent', output_format: 'png' }, []],
  [{ background: 'transparent', output_format: 'jpeg' }, [transparent]],
  [{ output_compression: 50, output_format: 'webp' }, []],
  [{ output_compression: 50 }, [compressed]],
])('what a family requires of %j', (body, expected) => {
  expect(broken('image-model-a', body)).toEqual(expected)
})

test('a default that is allowed need not be given', () => {
  expect(broken('image-model-a', { background: 'transparent' })).toEqual([])
})

test('what a family requires is not required of models of no family', () => {
  expect(broken('flux-pro', { background: 'transparent', output_format: 'jpeg' })).toEqual([])
  expect(broken('flux-pro', { output_compression: 50 })).toEqual([])
})

test('an endpoint whose models have limits may have no rules for them', () => {
  const { familyRules: _, ...endpoint } = imageCreateEndpoint
  expect(checkBody(endpoint, { prompt: 'a dot' }, modelCalled('image-model-a'))).toEqual([])
})

test('a rule about some values leaves the others alone', () => {
  expect(broken('flux-pro', { partial_images: 0 })).toEqual([])
  expect(broken('flux-pro', { partial_images: 1 })).toEqual([
    {
      path: 'partial_images',
      kind: 'requires',
      problem: 'partial images come only while streaming',
      other: 'stream',
    },
  ])
})

test('advice is given by itself, and is no violation', () => {
  const body = { temperature: 1, top_p: 1, previous_response_id: 'a', conversation: 'b', stream_options: {} }
  expect(ignoredAdvice(responsesEndpoint, body).map(({ path, kind, other }) => [path, kind, other])).toEqual([
    ['temperature', 'exclusive', 'top_p'],
  ])
  expect(checkBody(responsesEndpoint, body).map(({ path }) => path)).toEqual([
    'previous_response_id',
    'stream_options',
  ])
  expect(ignoredAdvice(responsesEndpoint, { temperature: 1 })).toEqual([])
})
