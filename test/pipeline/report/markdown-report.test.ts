import * as fc from 'fast-check'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { expect, test } from 'vitest'
import type { RunDocument } from '../../../src/events/run-document.ts'
import type { AssetReport } from '../../../src/events/asset-report.ts'
import { markdownReport, runSummary } from '../../../src/pipeline/report/markdown-report.ts'
import { anyText } from '../../support/any-text.ts'
import { failedInstance, sampleInstance, sampleRun, sampleRunFile } from '../../support/run-samples.ts'
import { runs } from '../../support/sample.ts'
import { asset, candidate, failure, file, reportOf } from './sample-report.ts'

const text = file('a.txt', 'a')
const since = {
  name: 'main',
  commit: '0'.repeat(40),
  changed: 1,
  added: 2,
  unchanged: 3,
  removed: [{ id: 'former', files: [text] }],
}
const assets = [
  asset('no', { state: 'new', failure, next: ['modelgate', 'run', 'no'] }),
  asset('gone', { state: 'lost', reasons: ['The file is gone.'] }),
  asset('photos[a]', {
    state: 'awaiting',
    candidates: [candidate(1, text), candidate(2, text, ['It is too small.'])],
  }),
  asset('done', { files: [text], cost: 0.02 }),
]
const report = { ...reportOf(...assets), since }

test('what failed is first, and what awaits a decision has its command', () => {
  const lines = markdownReport(report).split('\n')
  expect(lines.filter((line) => line.startsWith('#'))).toEqual([
    '# <code>shop</code>',
    '## Needs attention (2)',
    '## Awaits a decision (1)',
    '## Up to date (1)',
    '## Removed (1)',
  ])
  expect(lines).toContain('1 changed, 2 added, 1 removed, 3 unchanged since <code>main (000000000000)</code>')
  expect(lines).toContain(
    '| <code>no</code> | ❌ failed | <code>No &#124; &#60;b&#62;<wbr>&#46;</code> | <code>modelgate run no</code> |',
  )
  expect(lines).toContainEqual(
    expect.stringMatching(/ \| 1 \|.*<code>modelgate run pick 'photos&#91;a&#93;' 1<\/code> \|$/),
  )
  expect(lines).toContainEqual(expect.stringMatching(/ \| 2 \|.*<code>It is too small<wbr>&#46;<\/code> \|$/))
  expect(lines).toContainEqual(expect.stringMatching(/\| <code>EUR 0<wbr>&#46;02<\/code> \|/))
})

type Page = ReturnType<typeof fromMarkdown>

/** The kinds of nodes of the page, with raw HTML as it is. Where a line may break says nothing. */
function shapeOf(markdown: string): string[] {
  const kindsIn = (node: Page | Page['children'][number]): string[] => [
    node.type === 'html' ? node.value : node.type,
    ...('children' in node ? node.children.flatMap(kindsIn) : []),
  ]
  const page = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
  const telling = kindsIn(page).filter((kind) => kind !== '<wbr>')
  return telling.filter((kind, index) => kind !== 'text' || telling[index - 1] !== 'text')
}

/** The document of a run in which every text from outside is this one. */
function runDocument(text: string): RunDocument {
  return {
    ...sampleRun,
    manifest: text,
    instances: [
      { ...sampleInstance, instance: text, files: [{ ...sampleRunFile, path: text }] },
      { ...failedInstance, instance: text, error: { ...failedInstance.error!, message: text } },
    ],
    left: [
      { state: 'failed', instances: [text], message: text, commands: [['modelgate', 'run', text], [text]] },
    ],
    warnings: [text],
  }
}

const outside = new Set(['id', 'name', 'manifest', 'path', 'stored', 'model', 'message'])
/** The report in which every text from outside is this one. */
const reportWith = (text: string) =>
  JSON.parse(JSON.stringify(report), (name, value: unknown) =>
    typeof value === 'string' && outside.has(name) ? text : value,
  ) as AssetReport

const attacks = [
  '@team #12 https://example.com www.example.com a@example.com',
  '[x](https://example.com) ![y](z.png) <img src=x>',
  '``` ~~~ `a` | b | \\| *c* _d_ ~~e~~ $f$ :smile:',
  '\n\n# heading\n\n- list\n\n<details>',
  '</code><b>@team</b> &lt;i&gt; <!-- ',
  '0123456789abcdef0123456789abcdef01234567',
]
const signs = fc.string({ unit: fc.constantFrom(...'<>|`*_[]()!#@&;:/\\ \na'), minLength: 1 })
const hostile = fc.oneof(
  fc.constantFrom(...attacks),
  fc.oneof(anyText({ minLength: 1, maxLength: 40 }), signs).map((text) => `!${text}`),
)

test.each<[where: string, write: (text: string) => string]>([
  ['a report', (text) => markdownReport(reportWith(text))],
  ['the summary of a run', (text) => runSummary(runDocument(text))],
])('in %s no text becomes markup, a link or a mention', (_, write) => {
  const expected = shapeOf(write('x!'))
  fc.assert(
    fc.property(hostile, (text) => {
      const markdown = write(text)
      expect(shapeOf(markdown)).toEqual(expected)
      // GitHub looks for mentions and numbers after Markdown, but not in code.
      expect(markdown.replaceAll(/<code>(?:[^<]|<wbr>)*<\/code>/g, '')).not.toMatch(/@|https?:|www\./)
    }),
    { ...runs(100), examples: attacks.map((attack) => [attack]) },
  )
})

test('a page of many assets ends before 1 MiB, and says how many it leaves out', () => {
  const many = Array.from({ length: 5000 }, (_, index) => asset(`${'é'.repeat(250)}${index}`, { failure }))
  const markdown = markdownReport(reportOf(...many))
  expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(1_048_576)
  expect(Buffer.byteLength(markdown)).toBeGreaterThan(1_000_000)
  const [, left] = /… and (\d+) more: the page is full\./.exec(markdown)!
  const rows = markdown.split('\n').filter((line) => line.includes('❌')).length
  expect(rows + Number(left)).toBe(5000)
})

test('the summary of a run has what failed, what is left, and what was made', () => {
  const lines = runSummary(runDocument('hero')).split('\n')
  expect(lines.filter((line) => line.startsWith('#'))).toEqual([
    '# modelgate run <code>hero</code>',
    '## Failed (1)',
    '## Left to do',
    '## Done (1)',
    '## Warnings (1)',
  ])
  expect(lines).toContain(
    '2 assets · 1 fresh · 1 new · 1 created of at most 40 · <code>USD 0<wbr>&#46;08 estimated</code>',
  )
  expect(lines).toContain(
    '| <code>hero</code> | generated | <code>hero</code> | 1536 × 1024 · 48.2 kB | 12.5 s | <code>USD 0<wbr>&#46;04</code> |',
  )
})
