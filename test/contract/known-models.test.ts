import { describe, expect, test } from 'vitest'
import { familyCalled } from '../../src/contract/families.ts'
import { knownModels, modelCalled, modelWarnings } from '../../src/contract/known-models.ts'

const own = { mine: familyCalled('image-model-b'), 'dall-e-3': null }
const at = (date: string) => Date.parse(date)

test.each([
  ['gpt-image-2', 'gpt-image-2', undefined],
  ['gpt-image-2-2026-04-21', 'gpt-image-2', undefined],
  ['gpt-image-2.5-flare', 'gpt-image-2.5', undefined],
  ['gpt-image-2.5-sunburst-2026-09-08', 'gpt-image-2.5', undefined],
  ['chatgpt-image-latest', 'image-model-a', '2026-12-01'],
  ['dall-e-2', 'image-model-b', '2026-05-12'],
  ['sora-2', 'video-model-remix', '2026-09-24'],
  ['gemini-2.5-flash-image', undefined, '2026-10-02'],
  ['gpt-5-2025-08-07', undefined, '2026-12-11'],
  ['image-model-a', 'image-model-a', undefined],
  ['video-model-remix', 'video-model-remix', undefined],
])('%s is of %s and retires on %s', (id, family, retires) => {
  const { family: found, ...model } = modelCalled(id)
  expect([model, found?.id]).toEqual([{ id, retires, source: 'built-in' }, family])
})

test.each(['flux-pro', '', 'constructor', 'GPT-image-2', 'openai/gpt-image-2', 'gpt-image-3', '2026-04-21'])(
  '%j is unknown',
  (id) => {
    expect(modelCalled(id)).toEqual({ id, family: undefined, retires: undefined, source: undefined })
  },
)

test('a configuration gives families to models, or takes them away', () => {
  expect(modelCalled('mine', own)).toMatchObject({ family: { id: 'image-model-b' }, source: 'configuration' })
  expect(modelCalled('mine-2026-01-01', own)).toMatchObject({ family: { id: 'image-model-b' } })
  expect(modelCalled('dall-e-3', own)).toEqual({
    id: 'dall-e-3',
    family: undefined,
    retires: '2026-05-12',
    source: 'configuration',
  })
  const ids = knownModels(own).map(({ id }) => id)
  expect(ids.slice(0, 2)).toEqual(['mine', 'dall-e-3'])
  expect(ids.filter((id) => id === 'dall-e-3')).toHaveLength(1)
})

describe('warnings', () => {
  const warnings = (id: string, date = '2026-11-22', kind: 'image' | 'video' | 'text' = 'image') =>
    modelWarnings(modelCalled(id, own), {
      kind: kind === 'text' ? undefined : kind,
      configured: own,
      now: at(date),
    })

  test.each([
    ['gpt-image-1', '2026-10-22T23:59:59Z', ['gpt-image-1 retires on 2026-10-23.']],
    [
      'gpt-image-1',
      '2026-10-23',
      ['gpt-image-1 was retired by its vendor on 2026-10-23; your gateway may still serve it.'],
    ],
    ['gpt-image-1.5', undefined, ['gpt-image-1.5 retires on 2026-12-01.']],
    ['gpt-image-2', undefined, []],
    // The configuration has them: its user knows.
    ['dall-e-3', undefined, []],
    ['mine', undefined, []],
  ])('of the retirement of %s on %s', (id, date, expected) => {
    expect(warnings(id, date)).toEqual(expected)
  })

  test.each([
    ['gpt-imag-2', 'gpt-image-2'],
    ['gpt-image2', 'gpt-image-2'],
    ['GPT-Image-2', 'gpt-image-2'],
    ['gpt-image-1-min', 'gpt-image-1-mini'],
    ['dalle-2', 'dall-e-2'],
    ['min', 'mine'],
  ])('of a near miss: %s, %s', (id, meant) => {
    expect(warnings(id)).toEqual([
      `The model "${id}" is unknown here; did you mean ${meant}? It is sent unchanged.`,
    ])
  })

  const others = ['gpt-image-3', 'gpt-image', 'flux-pro', 'openai/gpt-image-2', 'sora2', 'my-model']
  test.each(others)('none for %s, which is no slip of the keyboard', (id) => {
    expect(warnings(id)).toEqual([])
  })

  test('a near miss is one of the same kind of model', () => {
    expect(warnings('sora2', '2026-01-01', 'video')).toHaveLength(1)
    expect(warnings('gpt-imag-2', '2026-01-01', 'video')).toEqual([])
    expect(warnings('gpt-imag-2', '2026-01-01', 'text')).toEqual([])
  })
})
