import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { checkBody } from '../../src/contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../src/contract/images.ts'
import { modelCalled } from '../../src/contract/known-models.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'

const own = `families:
  fast: gpt-image-2
  dall-e-3: none
  flux-dev: flux
  flux:
    about: Flux behind our gateway
    image create:
      prompt: { max_length: 20 }
      n: { max: 4 }
      size: { words: [auto], multiple_of: 32, max_ratio: 2, max_edge: 1536, min_pixels: 65536, max_pixels: 2359296 }
      quality: [draft, final]
      style: false
    image edit: {}
    sources: { max_count: 2, below_mb: 10, media_types: [image/png], square: true }
`

async function problems(user: string, model: string, body: object, endpoint = imageCreateEndpoint) {
  const { families } = await resolveSettings(configPlace({ user }).context)
  const found = checkBody(endpoint, { prompt: 'a dot', ...body }, modelCalled(model, families.value))
  return found.map(({ path, problem }) => `${path} ${problem}`)
}

describe('a configuration', () => {
  test('gives a model the family that it names', async () => {
    expect(await problems(own, 'fast', { size: '1000x1000' })).toEqual([
      'size must have edges that are multiples of 16 for fast (gpt-image-2), not "1000x1000"',
    ])
    expect(await problems(own, 'fast-2026-04-21', { size: '1536x864' })).toEqual([])
  })

  test('takes the family of a known model away', async () => {
    expect(await problems(own, 'dall-e-3', { size: '7x7', n: 10, moderation: 'low' })).toEqual([])
    expect(await problems('', 'dall-e-3', { n: 10 })).toEqual([
      'n must be 1 for dall-e-3 (image-model-c), not 10',
    ])
  })

  test('defines families of its own, for the id itself and for others', async () => {
    const body = { prompt: 'x'.repeat(21), n: 5, size: '1568x1024', quality: 'low', style: 'vivid' }
    const expected = (subject: string) => [
      `prompt must have at most 20 characters for ${subject}, not 21`,
      `n must be from 1 to 4 for ${subject}, not 5`,
      `quality must be one of draft, final for ${subject}, not "low"`,
      `size must have edges of at most 1536 for ${subject}, not "1568x1024"`,
      `style is not for ${subject}`,
    ]
    expect(await problems(own, 'flux', body)).toEqual(expected('flux'))
    expect(await problems(own, 'flux-dev', body)).toEqual(expected('flux-dev (flux)'))
    const right = { prompt: 'x'.repeat(20), n: 4, size: '1536x768', quality: 'draft' }
    expect(await problems(own, 'flux', right)).toEqual([])
    expect(await problems(own, 'flux', { quality: 'anything' }, imageEditEndpoint)).toEqual([])
  })

  const familiesOf = async (content: ConfigPlaceContent, profile?: string) =>
    (await resolveSettings(configPlace(content).context, profile === undefined ? {} : { profile })).families
      .value

  test('says which pictures an edit takes, and which commands a family is for', async () => {
    const user = `${own}  film: { video remix: { prompt: { max_length: 9 } } }\n`
    expect(await familiesOf({ user })).toMatchObject({
      flux: {
        id: 'flux',
        kind: 'image',
        about: 'Flux behind our gateway',
        sources: { max_count: 2, below_bytes: 10_000_000, media_types: ['image/png'], square: true },
      },
      film: { kind: 'video', endpoints: { 'video remix': {} } },
    })
  })

  test('is joined from both files, the project’s own entries first', async () => {
    const project = 'families: { fast: image-model-b, mine: image-model-c }'
    expect(await familiesOf({ user: own, project })).toMatchObject({
      fast: { id: 'image-model-b' },
      mine: { id: 'image-model-c' },
      'dall-e-3': null,
      'flux-dev': { id: 'flux' },
    })
  })

  test('may be that of a profile, before the rest of the file', async () => {
    const user = `${own}profiles:\n  work:\n    families: { fast: image-model-b }\n`
    const families = await familiesOf({ user }, 'work')
    expect(families).toMatchObject({ fast: { id: 'image-model-b' }, 'flux-dev': { id: 'flux' } })
  })
})

test('the example of the documentation is right', async () => {
  const page = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8')
  const user = /```yaml\n([^]*?)```/.exec(page)![1]!
  expect(await problems(user, 'flux-dev', { size: '1536x1568', style: 'vivid' })).toEqual([
    'size must have edges of at most 1536 and 65,536 to 2,359,296 pixels for flux-dev (flux), not "1536x1568"',
    'style is not for flux-dev (flux)',
  ])
})

/** What is said of these families, each line from the name of the file on. */
async function failure(entry: string): Promise<string[]> {
  const place = configPlace({ user: `families:\n  ${entry}\n` })
  const message = await failureOf(() => resolveSettings(place.context))
  return [...message.matchAll(/config\.yaml:(\d+: families\..*)/g)].map(([, line]) => line!)
}

test.each([
  ['a: gpt-imag-2', ['2: families.a must be none or a family, such as gpt-image-2, not "gpt-imag-2".']],
  ['b: gpt-image-2\n  a: b', [/^3: families\.a must be none or one of the families image-model-a/]],
  [
    'a: { about: x }',
    ['2: families.a must have the limits of at least one of image create, image edit, video remix.'],
  ],
  [
    'a:\n    image crate: {}\n    image edit: {}',
    ['3: families.a."image crate" is not a part of a family; did you mean image create?'],
  ],
  [
    'a:\n    image create:\n      size: { multiple_of: 16, max_ratio: 3 }',
    ['4: families.a."image create".size must have max_edge, min_pixels, max_pixels, too.'],
  ],
  [
    'a:\n    image create:\n      size: { multiple_of: 0, max_ratio: 1.5, max_edge: 9.5, min_pixels: 1, max_pixels: 9 }',
    [
      '4: families.a."image create".size.multiple_of must be a number from 1, not 0.',
      '4: families.a."image create".size.max_edge must be a whole number from 1, not 9.5.',
    ],
  ],
  [
    'b: nome\n  a:\n    image edit: { n: { max: -1, min: many }, quality: [low, ""] }',
    [
      '4: families.a."image edit".n.min must be a number from 0, not "many".',
      '4: families.a."image edit".n.max must be a number from 0, not -1.',
      '4: families.a."image edit".quality (item 2) must be a word, not empty.',
      /^2: families\.b must be none or one of the families a, image-model-a/,
    ],
  ],
  [
    'a:\n    image edit: {}\n    sources: { square: 1, media_types: [png], max_cont: 2 }',
    [
      '4: families.a.sources.media_types (item 1) must be one of image/png, image/jpeg, image/webp, image/gif, image/avif, not "png".',
      '4: families.a.sources.square must be true or false, not 1.',
      '4: families.a.sources.max_cont is not a limit; did you mean max_count?',
    ],
  ],
])('%j is refused by its place', async (entry, expected) => {
  const lines = await failure(entry)
  expect(lines.length).toBe(expected.length)
  for (const [at, line] of expected.entries()) expect(lines[at]).toMatch(line)
})
