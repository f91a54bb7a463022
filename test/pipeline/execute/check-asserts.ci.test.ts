import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { AssertChecker } from '../../../src/pipeline/execute/check-asserts.ts'
import type { OutputFacts } from '../../../src/pipeline/lock/lock-block.ts'
import type { Asserts, Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { gifBytes, jpegBytes, pngBytes, webpBytes } from '../../support/image-bytes.ts'
import { instanceOf, valueField } from '../../support/pipeline-task.ts'
import { until } from '../../support/until.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

interface Checked extends Partial<OutputFacts> {
  readonly content?: string | Uint8Array
}

/** Of most of the tests: what checks texts is a thread. */
let shared: ReturnType<typeof checks>
beforeAll(() => void (shared = checks()))
afterAll(() => shared.close())

function checks() {
  const context = testContext()
  const asserts = new AssertChecker(context)
  const check = (
    instance: Partial<Instance>,
    outputs: readonly Checked[],
    duplicateOf: (sha256: string) => string | undefined = () => undefined,
  ) =>
    asserts.check(
      instanceOf({ command: 'image create', ...instance }),
      outputs.map(({ content = '', ...facts }) => {
        const path = join(temporaryFolder(), 'output')
        writeFileSync(path, content)
        const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
        return {
          path,
          facts: {
            path: 'x',
            sha256,
            bytes: content.length,
            media_type: 'image/png',
            width: null,
            height: null,
            seconds: null,
            credentials: false,
            ...facts,
          },
        }
      }),
      duplicateOf,
    )
  return { context, check, close: () => asserts.close() }
}

test.for<[Asserts, Partial<OutputFacts>, string[]]>([
  [{ width: 1536, height: 1024 }, { width: 1536, height: 1024 }, []],
  [{ width: 1536 }, { width: 1024 }, ['The image is 1024 pixels wide, not 1536.']],
  [{ height: 1536 }, { height: 1024 }, ['The image is 1024 pixels high, not 1536.']],
  [{ width: 1 }, {}, ['The image is an unknown number of pixels wide, not 1.']],
  [{ max_bytes: 10 }, { bytes: 10 }, []],
  [{ max_bytes: 10 }, { bytes: 11 }, ['The image has 11 bytes, more than 10.']],
  [
    { width: 2, height: 2, max_bytes: 1 },
    { width: 1, height: 1, bytes: 2 },
    [
      'The image is 1 pixels wide, not 2.',
      'The image is 1 pixels high, not 2.',
      'The image has 2 bytes, more than 1.',
    ],
  ],
])('%o of %o', async ([asserts, facts, reasons]) => {
  expect(await shared.check({ asserts }, [facts])).toEqual(reasons)
})

test('a video plays for as long as is asserted', async () => {
  const { check } = shared
  const video = { command: 'video generate', lane: 'video', asserts: { min_seconds: 4 } } as const
  expect(await check(video, [{ seconds: 4 }])).toEqual([])
  expect(await check(video, [{ seconds: 3.5 }])).toEqual(['The video plays for 3.5 seconds, not at least 4.'])
  expect(await check(video, [{}])).toEqual([
    'The video plays for an unknown number of seconds, not at least 4.',
  ])
})

test('no other output has the same bytes', async () => {
  const { check } = shared
  const asserts = { not_duplicate: true }
  expect(await check({ asserts }, [{ content: 'a' }, { content: 'b' }])).toEqual([])
  expect(await check({ asserts }, [{ content: 'a' }, { content: 'a' }])).toEqual([
    'Image 2 has the same bytes as image 1.',
  ])
  expect(await check({ asserts }, [{ content: 'a' }], () => 'photos[shoe]')).toEqual([
    'The image has the same bytes as photos[shoe].',
  ])
  expect(await check({}, [{ content: 'a' }, { content: 'a' }], () => 'photos[shoe]')).toEqual([])
})

const opaque = pngBytes({ colourType: 6, rows: [Uint8Array.of(1, 2, 3, 255)] })
const open = pngBytes({ colourType: 6, rows: [Uint8Array.of(1, 2, 3, 0)] })
const withAlpha = webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0x10, 0]))
const avif = Buffer.from('\0\0\0\x18ftypavif\0\0\0\0avifmif1', 'latin1')

test.for<[string, Uint8Array, string, boolean | string]>([
  ['a PNG with a transparent pixel', open, 'image/png', true],
  ['a PNG without one', opaque, 'image/png', 'The image has an alpha channel, but no transparent pixel.'],
  ['a PNG without a channel', pngBytes({ colourType: 2 }), 'image/png', 'The image has no alpha channel.'],
  ['a WebP with alpha', withAlpha, 'image/webp', true],
  ['a JPEG', jpegBytes(), 'image/jpeg', 'The image has no alpha channel.'],
  ['a GIF', gifBytes(), 'image/gif', 'The image has no alpha channel.'],
])('has_alpha of %s', async ([, content, media_type, found]) => {
  const { check } = shared
  const wanted = found === true ? [] : [found]
  expect(await check({ asserts: { has_alpha: true } }, [{ content, media_type }])).toEqual(wanted)
  expect(await check({ asserts: { has_alpha: false } }, [{ content, media_type }])).toEqual(
    found === true ? ['The image has transparent pixels.'] : [],
  )
})

test('where nobody knows whether there is alpha, either assert fails', async () => {
  const { check } = shared
  for (const has_alpha of [true, false]) {
    expect(await check({ asserts: { has_alpha } }, [{ content: avif, media_type: 'image/avif' }])).toEqual([
      'The image is image/avif, of which it is not known whether it has alpha.',
    ])
  }
})

const text = { command: 'respond', lane: 'text' } as const

test.for<[Asserts, string, string[]]>([
  [{ min_chars: 3 }, 'a𝄞b', []],
  [{ min_chars: 3 }, 'a𝄞', ['The text has 2 characters, fewer than 3.']],
  [{ matches: 'b.d' }, 'abcde', []],
  [{ matches: '^b' }, 'abc', ['The text does not match /^b/.']],
  [{ matches: '^ü$' }, 'ü', []],
  [{ schema: { type: 'object' } }, '{}', []],
  [{ schema: { type: 'object' } }, '[]', ['The text does not match the schema: (root) must be object.']],
  [{ schema: { type: 'object' } }, 'Sure!', ['The text does not match the schema: it is not JSON.']],
  [
    { schema: { type: 5 } },
    '{}',
    [expect.stringMatching(/^The text cannot be checked: the schema is not a valid JSON Schema/)],
  ],
])('%o of %s', async ([asserts, content, reasons]) => {
  expect(await shared.check({ ...text, asserts }, [{ content }])).toEqual(reasons)
})

test('the schema of the request itself is always checked', async () => {
  const fields = { schema: valueField({ required: ['name'] }) }
  const { check } = shared
  expect(await check({ ...text, fields }, [{ content: '{"name":1}' }])).toEqual([])
  expect(await check({ ...text, fields }, [{ content: '{}' }])).toEqual([
    "The text does not match the schema of the request: (root) must have required property 'name'.",
  ])
})

test('a pattern that never ends is given up, and others are checked as before', async () => {
  const { context, check, close } = checks()
  onTestFinished(close)
  const asserts = { matches: '^(?:(?:ab|cd|abcd)+!)+$' }
  expect(await check({ ...text, asserts }, [{ content: 'ab!' }])).toEqual([])
  const slow = check({ ...text, asserts }, [{ content: 'abcd'.repeat(60) }])
  await until(() => context.clock.pendingTimers > 0)
  await context.clock.advance(10_000)
  expect(await slow).toEqual([
    'The text cannot be checked against /^(?:(?:ab|cd|abcd)+!)+$/: it takes longer than 10 s.',
  ])
  expect(await check({ ...text, asserts }, [{ content: 'cd!' }])).toEqual([])
})
