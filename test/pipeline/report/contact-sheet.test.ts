import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AssetReport } from '../../../src/events/asset-report.ts'
import { encodePng } from '../../../src/files/codecs.ts'
import { contactSheet } from '../../../src/pipeline/report/contact-sheet.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { anyText } from '../../support/any-text.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sampleProject, type SampleAsset } from './sample-project.ts'
import { runs } from '../../support/sample.ts'

const textFile = (bytes: string) => ({ bytes, mediaType: 'text/plain' })

async function sheetOf(report: AssetReport, folder: string, embeds = false): Promise<string> {
  let html = ''
  const place = { folder, sheetFolder: join(folder, 'report'), embeds }
  for await (const piece of contactSheet(report, place)) html += piece
  return html
}

async function sheet(assets: readonly SampleAsset[], embeds = false): Promise<string> {
  const folder = temporaryFolder()
  const report = await buildReport(testContext({ cwd: folder }), sampleProject(folder, assets))
  return sheetOf(report, folder, embeds)
}

/** A picture that no encoder makes small. */
async function noise(side: number, seed = 1) {
  let state = seed
  const data = Uint8ClampedArray.from({ length: side * side * 4 }, (_, index) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return index % 4 === 3 ? 255 : state >>> 24
  })
  const bytes = await encodePng({ data, width: side, height: side })
  return { bytes, mediaType: 'image/png', size: [side, side] as const }
}

/** Every tag with the names of its attributes. Everything else has to be text without a bracket. */
function tagsOf(html: string): string[] {
  const body = html.slice(html.indexOf('<body>'))
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
  const names = 'id job command prompt prompt_file alt output model origin request_id job_id adopted'
  const hostile = assets.map((asset) => ({
    ...asset,
    ...Object.fromEntries(names.split(' ').map((name) => [name, text])),
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
  '</style><link rel=stylesheet href=//example.com>',
  '&lt;b&gt; &#60; &amp',
  '\u202eevil\u2066\u0000\u001b[31m\r\n',
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

  test('characters that act without being seen are seen', async () => {
    const html = await sheet([
      { id: 'hero', state: 'new', prompt: 'a\u202eb\u2066c\u0007d\u0000e\ud800f\u009bg' },
    ])
    expect(html).toContain('a\\u{202e}b\\u{2066}c␇d␀e�f\\u{9b}g')
  })

  test('the links to files cannot be anything else', async () => {
    const links = async (output: string) => {
      const instance = { lane: 'text', output } as const
      const html = await sheet([{ id: 'a', state: 'fresh', locked: textFile('a'), instance }])
      return [...html.matchAll(/href="([^"#]+)"/g)].map(([, address]) => address)
    }
    expect(await links('javascript:alert(1)')).toEqual(['./../javascript%3Aalert(1)'])
    expect(await links('a b/#?".txt')).toEqual(['./../a%20b/%23%3F%22.txt'])
  })
})

test('there is no script, and nothing is loaded but linked videos', async () => {
  const html = await sheet([{ id: 'hero', state: 'new' }])
  const policy = /content="(default-src[^"]+)"/.exec(html)![1]!.replaceAll('&#39;', "'")
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; media-src data: 'self' file:; base-uri 'none'; form-action 'none'$/,
  )
  expect(html).not.toMatch(/<script|\s(?:style|on[a-z]+)="/)
})

describe('pictures', () => {
  test('are small, and link to their files', async () => {
    const [now, before] = [await noise(600), await noise(300, 2)]
    const html = await sheet([
      { id: 'hero', state: 'fresh', locked: now, before, instance: { alt: 'A harbour' } },
    ])
    const sizes = [...html.matchAll(/src="data:image\/webp;base64,([^"]+)"/g)].map(
      ([, data]) => Buffer.from(data!, 'base64').length,
    )
    expect(sizes).toHaveLength(3)
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(40_000)
    expect(html).toMatch(/<a href="\.\/\.\.\/assets\/hero\.webp"><img src="data:image\/webp;base64,/)
    expect(html.indexOf('<b>Before</b>')).toBeLessThan(html.indexOf('<b>After</b>'))
    expect(html).toContain('alt="A harbour"')
  })

  test('of a hundred assets stay under 6 MB, as noisy as they may be', async () => {
    const locked = await noise(500)
    const one = await sheet([{ id: 'photos[1]', state: 'fresh', locked, prompt: 'A harbour' }])
    expect(one.length * 100).toBeLessThan(6_000_000)
  })

  test('are in the page byte for byte with --embed, in pieces', async () => {
    const folder = temporaryFolder()
    // Longer than a piece, and no multiple of three.
    const bytes = Buffer.alloc(1_000_001, 7)
    const sources = sampleProject(folder, [
      { id: 'hero', state: 'fresh', locked: { bytes, mediaType: 'image/png' } },
      { id: 'film', state: 'fresh', locked: { bytes: 'mp4', mediaType: 'video/mp4' } },
    ])
    const report = await buildReport(testContext({ cwd: folder }), sources)
    const pieces: string[] = []
    for await (const piece of contactSheet(report, { folder, sheetFolder: folder, embeds: true }))
      pieces.push(piece)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(1_048_576)
    const html = pieces.join('')
    const [, data] = /src="data:image\/png;base64,([^"]*)"/.exec(html)!
    expect(Buffer.from(data!, 'base64').equals(bytes)).toBe(true)
    expect(html).toContain('src="data:video/mp4;base64,bXA0"></video>')
  })

  test('that cannot be decoded are linked, videos play from their files', async () => {
    const html = await sheet([
      { id: 'hero', state: 'fresh', locked: { bytes: 'x'.repeat(5000), mediaType: 'image/png' } },
      { id: 'film', state: 'fresh', locked: { bytes: 'mp4', mediaType: 'video/mp4' } },
      { id: 'icon', state: 'lost' },
    ])
    expect(html).toContain(
      'Not in this page</p><figcaption><span dir="auto"><a href="./../assets/hero.webp">',
    )
    expect(html).toContain('<video src="./../assets/film.webp"')
    expect(html).toContain('The file is gone')
  })
})

test('texts are set readably, and a long one by its beginning', async () => {
  const instance = (output: string) => ({ lane: 'text', output }) as const
  const html = await sheet([
    {
      id: 'data',
      state: 'fresh',
      instance: instance('a.json'),
      locked: { bytes: '{"name":"a","count":2}', mediaType: 'application/json' },
    },
    { id: 'long', state: 'fresh', instance: instance('b.md'), locked: textFile('é'.repeat(10_001)) },
  ])
  expect(html).toContain('{\n  &#34;name&#34;: &#34;a&#34;,\n  &#34;count&#34;: 2\n}</div>')
  expect(html).toContain(`${'é'.repeat(10_000)}</div><p class="quiet">2 B more</p>`)
})

test('a prompt without end is shown by its beginning', async () => {
  const html = await sheet([{ id: 'hero', state: 'new', prompt: 'a'.repeat(20_003) }])
  expect(html).toContain(`>${'a'.repeat(20_000)}</p><p class="quiet">3 more characters</p>`)
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
  expect(html).toContain('<code dir="ltr">modelgate run pick &#39;photos[a]&#39; 2</code>')
})
