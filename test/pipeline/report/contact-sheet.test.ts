import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AssetReport } from '../../../src/events/asset-report.ts'
import { contactSheet } from '../../../src/pipeline/report/contact-sheet.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { anyText } from '../../support/any-text.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { testImages } from '../../support/test-images.ts'
import { sampleProject, type SampleAsset } from './sample-project.ts'
import { runs } from '../../support/sample.ts'

const textFile = (bytes: string) => ({ bytes, mediaType: 'text/plain' })

async function sheetOf(report: AssetReport, folder: string, maxEmbeddedBytes?: number): Promise<string> {
  const limit = maxEmbeddedBytes === undefined ? {} : { maxEmbeddedBytes }
  const place = { folder, sheetFolder: join(folder, 'report'), ...limit }
  let html = ''
  for await (const piece of contactSheet(report, place)) html += piece
  return html
}

async function sheet(assets: readonly SampleAsset[], maxEmbeddedBytes?: number): Promise<string> {
  const folder = temporaryFolder()
  const report = await buildReport(testContext({ cwd: folder }), sampleProject(folder, assets))
  return sheetOf(report, folder, maxEmbeddedBytes)
}

/** Every tag with the names of its attributes. Everything else has to be text without a bracket. */
function tagsOf(html: string): string[] {
  const body = html.slice(html.indexOf('<body>')).replace(/<script>[^]*?<\/script>/, '')
  const tag = /<\/?([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*>/g
  expect(body.replaceAll(tag, '')).not.toMatch(/[<>]/)
  return [...body.matchAll(tag)].map(([, name, attributes]) =>
    [name, ...[...attributes!.matchAll(/([a-z-]+)(?:="[^"]*")?/g)].map(([, attribute]) => attribute)].join(
      ' ',
    ),
  )
}

/** A report in which every text from outside is this one. */
async function reportOf(text: string, fileText: string) {
  const folder = temporaryFolder()
  const sources = sampleProject(folder, [
    { id: 'story', state: 'fresh', instance: { lane: 'text', output: 'a.txt' }, locked: textFile(fileText) },
    {
      id: 'hero',
      state: 'changed',
      prompt: 'p',
      reasons: ['r'],
      fields: { size: { kind: 'value', value: 'v' } },
      locked: textFile('a'),
      found: textFile('b'),
      failure: { code: 'c', message: 'm', exit_code: 9 },
      candidates: [{ ...textFile('b'), rejected: ['r'] }, textFile('c')],
      instance: { variants: 2, alt: 'a' },
      result: { job_id: 'j' },
    },
  ])
  const { assets, ...report } = await buildReport(testContext({ cwd: folder }), sources)
  const hostile = assets.map((asset) => ({
    ...asset,
    ...Object.fromEntries(
      ['id', 'job', 'command', 'prompt', 'prompt_file', 'alt', 'output', 'model', 'origin'].map((name) => [
        name,
        text,
      ]),
    ),
    ...Object.fromEntries(['request_id', 'job_id', 'adopted'].map((name) => [name, text])),
    reasons: [text],
    next: ['modelgate', text],
    fields: asset.fields.map((field) => ({ ...field, name: text, text })),
    files: asset.files.map((file) => ({ ...file, path: text })),
    before: asset.before.map((file) => ({ ...file, path: text, media_type: text })),
    candidates: asset.candidates.map((candidate) => ({ ...candidate, reasons: [text], model: text })),
    failure: asset.failure && { ...asset.failure, message: text, code: text },
  }))
  return { folder, report: { ...report, name: text, manifest: text, assets: hostile } as AssetReport }
}

const attacks = [
  '</script><script>alert(1)</script>',
  '<!-- ',
  '--> ]]> <![CDATA[',
  `" onload="alert(1)`,
  `' autofocus onfocus='alert(1)`,
  '<img src=x onerror=alert(1)>',
  '</style><link rel=stylesheet href=//example.com>',
  '&lt;b&gt; &#60; &amp',
  '\u202eevil\u2066\u0000\u001b[31m\r\n',
  '</title></textarea></noscript></svg>',
]

describe('no text gets out of its place', () => {
  test('whatever it is', async () => {
    const ordinary = await reportOf('x', 'x')
    const expected = tagsOf(await sheetOf(ordinary.report, ordinary.folder))
    const hostile = fc.oneof(
      fc.constantFrom(...attacks),
      anyText({ minLength: 1, maxLength: 40 }),
      fc.string({
        unit: fc.constantFrom('<', '>', '"', "'", '&', '/', '-', '!', '=', ' ', 'a'),
        minLength: 1,
      }),
    )
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        const { folder, report } = await reportOf(text, `.${text}`)
        expect(tagsOf(await sheetOf(report, folder))).toEqual(expected)
      }),
      { ...runs(60), examples: attacks.map((attack) => [attack]) },
    )
  })

  test('not even in JSON, which is coloured', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.object({ key: anyText(), values: [anyText(), fc.integer(), fc.boolean()] }),
        async (value) => {
          const instance = { lane: 'text', output: 'a.json' } as const
          const locked = { bytes: JSON.stringify(value), mediaType: 'application/json' }
          const html = await sheet([{ id: 'data', state: 'fresh', instance, locked }])
          expect(tagsOf(html).filter((tag) => tag.startsWith('span class')).length).toBeGreaterThan(0)
        },
      ),
      runs(40),
    )
  })

  test('characters that act without being seen are seen', async () => {
    const html = await sheet([
      { id: 'hero', state: 'new', prompt: 'a\u202eb\u2066c\u0007d\u0000e\ud800f\u009bg' },
    ])
    expect(html).toContain('a\\u{202e}b\\u{2066}c␇d␀e�f\\u{9b}g')
  })

  test('the links to files cannot be anything else', async () => {
    const folder = temporaryFolder()
    const sources = sampleProject(folder, [
      {
        id: 'a',
        state: 'fresh',
        locked: textFile('a'),
        instance: { lane: 'text', output: 'javascript:alert(1)' },
      },
      { id: 'b', state: 'fresh', locked: textFile('b'), instance: { lane: 'text', output: 'a b/#?".txt' } },
    ])
    const html = await sheetOf(await buildReport(testContext({ cwd: folder }), sources), folder)
    expect([...html.matchAll(/href="([^"#]+)"/g)].map(([, address]) => address)).toEqual([
      './../javascript%3Aalert(1)',
      './../a%20b/%23%3F%22.txt',
    ])
  })
})

test('nothing is loaded and nothing runs but what the page names', async () => {
  const html = await sheet([{ id: 'hero', state: 'new' }])
  const policy = /content="(default-src[^"]+)"/.exec(html)![1]!.replaceAll('&#39;', "'")
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; img-src data: blob:; media-src blob:; base-uri 'none'; form-action 'none'$/,
  )
  expect(html).not.toMatch(/\s(?:style|on[a-z]+)="/)
  expect(html).not.toMatch(/(?:src|href)="(?!#|\.\/)/)
})

test('what the page is made with is small', async () => {
  const html = await sheet([])
  const [style, script] = [/<style>([^]*?)<\/style>/, /<script>([^]*?)<\/script>/].map(
    (found) => found.exec(html)![1]!,
  )
  expect(style!.length + script!.length).toBeLessThan(30_000)
  expect(script).not.toContain('</script')
})

describe('pictures', () => {
  const picture = async (width: number) => ({
    bytes: (await testImages(width, 8)).png,
    mediaType: 'image/png',
    size: [width, 8] as const,
  })

  test('are in the page, byte for byte, once each', async () => {
    const one = await picture(8)
    const html = await sheet([
      { id: 'hero', state: 'fresh', locked: one, before: await picture(16), instance: { alt: 'A harbour' } },
      { id: 'same', state: 'fresh', locked: one },
    ])
    const data = [
      ...html.matchAll(
        /<script type="application\/octet-stream" id="(m\d)" data-type="image\/png">([^<]*)</g,
      ),
    ]
    expect(data.map(([, id]) => id)).toEqual(['m1', 'm2'])
    expect(Buffer.from(data[0]![2]!, 'base64').equals(one.bytes)).toBe(true)
    expect(html.match(/data-media="m1"/g)).toHaveLength(2)
    expect(html).toContain('<img data-media="m1" alt="A harbour" width="8" height="8"')
  })

  test('beyond the bound are linked, the versions before first', async () => {
    const [one, other] = [await picture(8), await picture(16)]
    const room = one.bytes.length + other.bytes.length - 1
    const html = await sheet([{ id: 'hero', state: 'fresh', locked: one, before: other }], room)
    expect(html.match(/application\/octet-stream/g)).toHaveLength(1)
    expect(html).toContain('<div class="before"><figure class="shot" data-shown="link"')
    expect(html).toContain('Not in this page')
    expect(html).toContain('1 file had no room in this page and is linked.')
  })

  test('of any size do not need to be in memory', async () => {
    const folder = temporaryFolder()
    // Longer than a piece, and no multiple of three.
    const bytes = Buffer.alloc(1_000_001, 7)
    const locked = { bytes, mediaType: 'image/png' }
    const report = await buildReport(
      testContext({ cwd: folder }),
      sampleProject(folder, [{ id: 'hero', state: 'fresh', locked }]),
    )
    const lengths: number[] = []
    let html = ''
    for await (const piece of contactSheet(report, { folder, sheetFolder: folder })) {
      lengths.push(piece.length)
      html += piece
    }
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1_048_576)
    const [, data] = /data-type="image\/png">([^<]*)</.exec(html)!
    expect(Buffer.from(data!, 'base64').equals(bytes)).toBe(true)
  })

  test('that are gone leave the page whole', async () => {
    const folder = temporaryFolder()
    const report = await buildReport(
      testContext({ cwd: folder }),
      sampleProject(folder, [{ id: 'hero', state: 'fresh', locked: await picture(8) }]),
    )
    const pieces = contactSheet(report, { folder, sheetFolder: folder })[Symbol.asyncIterator]()
    let html = (await pieces.next()).value as string
    writeFiles(folder, { 'assets/hero.webp': '' })
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) html += next.value
    expect(html).toContain('data-type="image/png"></script>\n</body>\n</html>\n')
  })
})

test('texts are set readably, and a long one by its beginning', async () => {
  const instance = (output: string) => ({ lane: 'text', output }) as const
  const html = await sheet([
    {
      id: 'data',
      state: 'fresh',
      instance: instance('a.json'),
      locked: { bytes: '{"name":"a\\nb","count":2}', mediaType: 'application/json' },
    },
    { id: 'long', state: 'fresh', instance: instance('b.md'), locked: textFile(`${'é'.repeat(10_001)}`) },
  ])
  expect(html).toContain(
    '<span class="json-name">&#34;name&#34;</span>: <span class="json-text">&#34;a\nb&#34;</span>',
  )
  expect(html).toContain('<span class="json-number">2</span>')
  expect(html).toContain(
    `data-type="markdown">${'é'.repeat(10_000)}</div><p class="quiet">2 B more in b.md</p>`,
  )
})

test('a prompt without end is shown by its beginning', async () => {
  const html = await sheet([{ id: 'hero', state: 'new', prompt: 'a'.repeat(20_003) }])
  expect(html).toContain(`data-find>${'a'.repeat(20_000)}</p><p class="quiet">3 more characters</p>`)
})

test('a candidate has its command, quoted for a shell', async () => {
  const html = await sheet([
    {
      id: 'photos[a]',
      state: 'awaiting',
      instance: { variants: 2 },
      candidates: [textFile('a'), textFile('b')],
    },
  ])
  expect(html).toContain('data-copy="modelgate run pick &#39;photos[a]&#39; 2"')
})
