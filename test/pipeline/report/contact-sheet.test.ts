import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { contactSheet } from '../../../src/pipeline/report/contact-sheet.ts'
import { anyText } from '../../support/any-text.ts'
import { noisyPng } from '../../support/image-bytes.ts'
import { runs } from '../../support/sample.ts'
import { asset, candidate, failure, reportFolder, reportOf } from './sample-report.ts'

async function sheetOf(...call: Parameters<typeof contactSheet>): Promise<string> {
  let html = ''
  for await (const piece of contactSheet(...call)) html += piece
  return html
}

/** Every tag with the names of its attributes. Everything else has to be text without a bracket. */
function tagsOf(html: string): string[] {
  const body = html.slice(html.indexOf('<body>'))
  const tag = /<\/?[a-z][a-z0-9]*(?:\s+[a-z-]+(?:="[^"<>]*")?)*\s*>/g
  expect(body.replaceAll(tag, '')).not.toMatch(/[<>]/)
  return [...body.matchAll(tag)].map(([found]) => found.replaceAll(/="[^"]*"/g, ''))
}

/** The sheet of a report in which every text from outside is this one. */
async function sheetWith(text: string, fileText: string): Promise<string> {
  const { write, place } = reportFolder()
  const texts = { id: text, job: text, command: text, output: text, model: text, origin: text }
  const more = { prompt: text, prompt_file: text, alt: text, request_id: text, job_id: text, adopted: text }
  const named = (path: string, bytes: string) => ({ ...write(path, bytes), path: text })
  const story = { ...named('a.txt', fileText), stored: 'a.txt' }
  const report = reportOf(
    asset('story', { ...texts, ...more, kind: 'text', files: [story] }),
    asset('hero', {
      ...texts,
      ...more,
      state: 'changed',
      reasons: [text],
      next: ['modelgate', text],
      fields: [{ name: text, text, assets: [] }],
      files: [named('b', 'b')],
      before: [{ ...named('c', 'c'), media_type: text }],
      candidates: [{ ...candidate(1, named('d', 'd'), [text]), model: text }, candidate(2, named('e', 'e'))],
      failure: { ...failure, message: text, code: text },
    }),
  )
  const removed = [{ id: text, files: [story, { ...named('f', 'f'), media_type: text }] }]
  const since = { name: text, commit: text, changed: 0, added: 0, unchanged: 0, removed }
  return await sheetOf({ ...report, name: text, manifest: text, since }, place)
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

test('no text gets out of its place, whatever it is', async () => {
  const expected = tagsOf(await sheetWith('x', 'x'))
  const hostile = fc.oneof(
    fc.constantFrom(...attacks),
    anyText({ minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom(...`<>"'&/-!= a`), minLength: 1 }),
  )
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      expect(tagsOf(await sheetWith(text, `.${text}`))).toEqual(expected)
    }),
    { ...runs(60), examples: attacks.map((attack) => [attack]) },
  )
})

test('characters that act without being seen are seen', async () => {
  const prompt = 'a\u202eb\u2066c\u0007d\u0000e\ud800f\u009bg'
  const html = await sheetOf(reportOf(asset('hero', { prompt })), reportFolder().place)
  expect(html).toContain('a\\u{202e}b\\u{2066}c␇d␀e�f\\u{9b}g')
})

test.each([
  ['javascript:alert(1)', './../javascript%3Aalert(1)'],
  ['a b/#?".txt', './../a%20b/%23%3F%22.txt'],
])('the link to a file %s cannot be anything else', async (path, address) => {
  const { write, place } = reportFolder()
  const html = await sheetOf(reportOf(asset('a', { kind: 'text', files: [write(path, 'a')] })), place)
  expect([...html.matchAll(/href="([^"#]+)"/g)].map(([, found]) => found)).toEqual([address])
})

test('there is no script, and nothing is loaded but linked videos', async () => {
  const html = await sheetOf(reportOf(asset('hero')), reportFolder().place)
  expect(/content="(default-src[^"]+)"/.exec(html)![1]!.replaceAll('&#39;', "'")).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; media-src data: 'self' file:; base-uri 'none'; form-action 'none'$/,
  )
  expect(html).not.toMatch(/<script|\s(?:style|on[a-z]+)="/)
})

test('pictures are small, those of a hundred assets under 6 MB, and link to their files', async () => {
  const { write, place } = reportFolder()
  const files = [write('assets/hero.webp', noisyPng(600, 600), 'image/png')]
  const before = [write('old.png', noisyPng(600, 500), 'image/png')]
  const html = await sheetOf(reportOf(asset('hero', { files, before, alt: 'A harbour' })), place)
  const sizes = [...html.matchAll(/src="data:image\/webp;base64,([^"]+)"/g)].map(
    ([, data]) => Buffer.from(data!, 'base64').length,
  )
  expect(sizes).toHaveLength(3)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(40_000)
  expect(html.length * 100).toBeLessThan(6_000_000)
  expect(html).toMatch(
    /<a href="\.\/\.\.\/assets\/hero\.webp"><img alt="A harbour"[^>]* src="data:image\/webp;base64,/,
  )
  expect(html.indexOf('<b>Before</b>')).toBeLessThan(html.indexOf('<b>After</b>'))
})

test('pictures and videos are in the page byte for byte with --embed', async () => {
  const { write, place } = reportFolder()
  const bytes = Buffer.alloc(1_000_001, 7)
  const report = reportOf(
    asset('hero', { files: [write('hero.png', bytes, 'image/png')] }),
    asset('film', { files: [write('film.mp4', 'mp4', 'video/mp4')] }),
  )
  const html = await sheetOf(report, { ...place, embeds: true })
  expect(html.includes(`src="data:image/png;base64,${bytes.toString('base64')}"`)).toBe(true)
  expect(html).toContain('src="data:video/mp4;base64,bXA0"></video>')
})

test('pictures that cannot be decoded are linked, videos play from their files', async () => {
  const { write, place } = reportFolder()
  const lost = { ...write('icon.png', 'x', 'image/png'), stored: null }
  const report = reportOf(
    asset('hero', { files: [write('hero.webp', 'x'.repeat(5000), 'image/png')] }),
    asset('film', { files: [write('film.webp', 'mp4', 'video/mp4')] }),
    asset('icon', { state: 'lost', files: [lost] }),
  )
  const html = await sheetOf(report, place)
  expect(html).toContain('Not in this page</p><figcaption><span dir="auto"><a href="./../hero.webp">')
  expect(html).toMatch(/<video [^>]*src="\.\/\.\.\/film\.webp"/)
  expect(html).toContain('The file is not here</p><figcaption><span dir="auto">icon.png</span>')
})

test('texts are set readably, a long one by its beginning; a candidate has its command', async () => {
  const { write, place } = reportFolder()
  const json = write('a.json', '{"name":"a","count":2}', 'application/json')
  const candidates = [candidate(1, write('1.txt', 'a')), candidate(2, write('2.txt', 'b'))]
  const report = reportOf(
    asset('data', { kind: 'text', files: [json] }),
    asset('long', { kind: 'text', files: [write('b.md', 'é'.repeat(10_001))] }),
    asset('hero', { state: 'new', prompt: 'a'.repeat(20_003) }),
    asset('photos[a]', { state: 'awaiting', candidates }),
  )
  const html = await sheetOf(report, place)
  expect(html).toContain('{\n  &#34;name&#34;: &#34;a&#34;,\n  &#34;count&#34;: 2\n}</div>')
  expect(html).toContain(`${'é'.repeat(10_000)}</div><p class="quiet">2 B more</p>`)
  expect(html).toContain(`>${'a'.repeat(20_000)}</p><p class="quiet">3 more characters</p>`)
  expect(html).toContain('<code dir="ltr">modelgate run pick &#39;photos[a]&#39; 2</code>')
})
