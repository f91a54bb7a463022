import { writeFileSync } from 'node:fs'
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
import { factsOf } from '../plan/sample-world.ts'

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
        return { path, facts: { ...factsOf('x', content), ...facts } }
      }),
      duplicateOf,
    )
  return { context, check, close: () => asserts.close() }
}

const text = { command: 'respond', lane: 'text' } as const
const named = { ...text, fields: { schema: valueField({ required: ['name'] }) } }
const video = { command: 'video generate', lane: 'video' } as const
const object = { schema: { type: 'object' } }
const unmatched = (why: string) => [`The text does not match the schema: ${why}`]

test.for<[Asserts, Checked, string[], Partial<Instance>?]>([
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
  [{ min_seconds: 4 }, { seconds: 4 }, [], video],
  [{ min_seconds: 4 }, { seconds: 3.5 }, ['The video plays for 3.5 seconds, not at least 4.'], video],
  [{ min_seconds: 4 }, {}, ['The video plays for an unknown number of seconds, not at least 4.'], video],
  [{ min_chars: 3 }, { content: 'a𝄞b' }, [], text],
  [{ min_chars: 3 }, { content: 'a𝄞' }, ['The text has 2 characters, fewer than 3.'], text],
  [{ matches: 'b.d' }, { content: 'abcde' }, [], text],
  [{ matches: '^b' }, { content: 'abc' }, ['The text does not match /^b/.'], text],
  [{ matches: '^ü$' }, { content: 'ü' }, [], text],
  [object, { content: '{}' }, [], text],
  [object, { content: '[]' }, unmatched('(root) must be object.'), text],
  [object, { content: 'Sure!' }, unmatched('it is not JSON.'), text],
  [
    { schema: { type: 5 } },
    { content: '{}' },
    [expect.stringMatching(/^The text cannot be checked: the schema is not a valid JSON Schema/)],
    text,
  ],
  // The schema of the request itself is always checked.
  [{}, { content: '{"name":1}' }, [], named],
  [
    {},
    { content: '{}' },
    ["The text does not match the schema of the request: (root) must have required property 'name'."],
    named,
  ],
])('%o of %o', async ([asserts, output, reasons, instance]) => {
  expect(await shared.check({ ...instance, asserts }, [output])).toEqual(reasons)
})

test('no other output has the same bytes', async () => {
  const { check } = shared
  const asserts = { not_duplicate: true }
  const [a, b] = [{ content: 'a' }, { content: 'b' }]
  const shoe = () => 'photos[shoe]'
  expect(await check({ asserts }, [a, b])).toEqual([])
  expect(await check({ asserts }, [a, a])).toEqual(['Image 2 has the same bytes as image 1.'])
  expect(await check({ asserts }, [a], shoe)).toEqual(['The image has the same bytes as photos[shoe].'])
  expect(await check({}, [a, a], shoe)).toEqual([])
})

const opaque = pngBytes({ colourType: 6, rows: [Uint8Array.of(1, 2, 3, 255)] })
const open = pngBytes({ colourType: 6, rows: [Uint8Array.of(1, 2, 3, 0)] })
const withAlpha = webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0x10, 0]))
const avif = Buffer.from('\0\0\0\x18ftypavif\0\0\0\0avifmif1', 'latin1')
const without = ['The image has no alpha channel.']
const pixels = ['The image has transparent pixels.']
const unknown = ['The image is image/avif, of which it is not known whether it has alpha.']

test.for<[string, Uint8Array, string, asserted: string[], denied: string[]]>([
  ['a PNG with a transparent pixel', open, 'image/png', [], pixels],
  [
    'a PNG without one',
    opaque,
    'image/png',
    ['The image has an alpha channel, but no transparent pixel.'],
    [],
  ],
  ['a PNG without a channel', pngBytes({ colourType: 2 }), 'image/png', without, []],
  ['a WebP with alpha', withAlpha, 'image/webp', [], pixels],
  ['a JPEG', jpegBytes(), 'image/jpeg', without, []],
  ['a GIF', gifBytes(), 'image/gif', without, []],
  ['an AVIF, of which nobody knows it', avif, 'image/avif', unknown, unknown],
])('has_alpha of %s', async ([, content, media_type, asserted, denied]) => {
  const reasonsFor = (has_alpha: boolean) =>
    shared.check({ asserts: { has_alpha } }, [{ content, media_type }])
  expect([await reasonsFor(true), await reasonsFor(false)]).toEqual([asserted, denied])
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
