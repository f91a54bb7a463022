import * as fc from 'fast-check'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { describe, expect, test } from 'vitest'
import type { RunDocument } from '../../../src/events/run-document.ts'
import type { AssetReport } from '../../../src/events/asset-report.ts'
import { markdownReport } from '../../../src/pipeline/report/markdown-report.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { runSummary } from '../../../src/pipeline/report/run-summary.ts'
import { anyText } from '../../support/any-text.ts'
import { failedInstance, sampleInstance, stateCounts } from '../../support/run-samples.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sampleProject, type SampleAsset } from './sample-project.ts'
import { runs } from '../../support/sample.ts'

const textFile = (bytes: string) => ({ bytes, mediaType: 'text/plain' })

async function report(assets: readonly SampleAsset[]): Promise<AssetReport> {
  const folder = temporaryFolder()
  return { ...(await buildReport(testContext({ cwd: folder }), sampleProject(folder, assets))), name: 'shop' }
}

const assets: readonly SampleAsset[] = [
  { id: 'done', state: 'fresh', locked: textFile('a'), cost: 0.02 },
  {
    id: 'hero',
    state: 'awaiting',
    instance: { variants: 2 },
    candidates: [textFile('a'), { ...textFile('b'), rejected: ['It is too small.'] }],
  },
  { id: 'gone', state: 'lost', reasons: ['The file is gone.'] },
  { id: 'no', state: 'new', failure: { code: 'content_refused', message: 'No | <b>.', exit_code: 9 } },
]

test('what failed is first, and what awaits a decision has its command', async () => {
  const lines = markdownReport(await report(assets)).split('\n')
  expect(lines.filter((line) => line.startsWith('#'))).toEqual([
    '# <code>shop</code>',
    '## Needs attention (2)',
    '## Awaits a decision (1)',
    '## Up to date (1)',
  ])
  expect(lines).toContain(
    '| <code>no</code> | ❌ failed | <code>No &#124; &#60;b&#62;<wbr>&#46;</code> | <code>modelgate run no</code> |',
  )
  expect(lines).toContainEqual(
    expect.stringMatching(/<code>hero<\/code> \| 1 \|.*<code>modelgate run pick hero 1<\/code> \|$/),
  )
  expect(lines).toContainEqual(
    expect.stringMatching(/<code>hero<\/code> \| 2 \|.*<code>It is too small<wbr>&#46;<\/code> \|$/),
  )
  expect(lines).toContainEqual(expect.stringMatching(/\| <code>EUR 0<wbr>&#46;02<\/code> \|/))
})

/** The kinds of nodes of the page, with raw HTML as it is. Where a line may break says nothing. */
function shapeOf(markdown: string): string[] {
  const kinds: string[] = []
  const visit = (node: { type: string; value?: string; children?: unknown[] }) => {
    kinds.push(node.type === 'html' ? node.value! : node.type)
    for (const child of node.children ?? []) visit(child as never)
  }
  visit(fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }))
  const telling = kinds.filter((kind) => kind !== '<wbr>')
  return telling.filter((kind, index) => kind !== 'text' || telling[index - 1] !== 'text')
}

function runDocument(text: string): RunDocument {
  return {
    version: 1,
    command: 'run',
    mode: 'run',
    manifest: text,
    folder: '/shop',
    sandbox: false,
    run: 'r1',
    shard: null,
    part: null,
    instances: [
      { ...sampleInstance, instance: text, files: [{ ...sampleInstance.files[0]!, path: text }] },
      { ...failedInstance, instance: text, error: { ...failedInstance.error!, message: text } },
    ],
    states: stateCounts({ fresh: 1, new: 1 }),
    creates: { planned: 2, made: 1, limit: null },
    estimate: null,
    cost: null,
    orphans: [],
    left: [
      {
        state: 'failed',
        instances: [text],
        message: text,
        commands: [
          ['modelgate', 'run', text],
          ['modelgate', text],
        ],
      },
    ],
    warnings: [text],
  }
}

describe('no text becomes markup, a link or a mention', () => {
  const attacks = [
    '@team #12 https://example.com www.example.com a@example.com',
    '[x](https://example.com) ![y](z.png) <img src=x>',
    '``` ~~~ `a` | b | \\| *c* _d_ ~~e~~ $f$ :smile:',
    '\n\n# heading\n\n- list\n\n<details>',
    '</code><b>@team</b> &lt;i&gt; <!-- ',
    '0123456789abcdef0123456789abcdef01234567',
  ]
  const hostile = fc.oneof(
    fc.constantFrom(...attacks),
    anyText({ minLength: 1, maxLength: 40 }).map((text) => `!${text}`),
    fc
      .string({ unit: fc.constantFrom(...'<>|`*_[]()!#@&;:/\\ \na'), minLength: 1 })
      .map((text) => `!${text}`),
  )

  test('in a report', async () => {
    const ordinary = await report(assets)
    const filled = (text: string) =>
      JSON.parse(JSON.stringify(ordinary), (name, value: unknown) =>
        typeof value === 'string' &&
        ['id', 'name', 'manifest', 'path', 'stored', 'model', 'message'].includes(name)
          ? text
          : value,
      ) as AssetReport
    const expected = shapeOf(markdownReport(filled('x!')))
    fc.assert(
      fc.property(hostile, (text) => {
        const markdown = markdownReport(filled(text))
        expect(shapeOf(markdown)).toEqual(expected)
        // GitHub looks for mentions and numbers after Markdown, but not in code.
        expect(markdown.replaceAll(/<code>(?:[^<]|<wbr>)*<\/code>/g, '')).not.toMatch(/[@]|https?:|www\./)
      }),
      { ...runs(100), examples: attacks.map((attack) => [attack]) },
    )
  })

  test('not even of the currency', async () => {
    const { sums, ...rest } = await report(assets)
    const markdown = markdownReport({ ...rest, sums: { ...sums, currency: '@team' } })
    expect(markdown.replaceAll(/<code>(?:[^<]|<wbr>)*<\/code>/g, '')).not.toContain('@')
  })

  test('in the summary of a run', () => {
    const expected = shapeOf(runSummary(runDocument('x')))
    fc.assert(
      fc.property(hostile, (text) => {
        expect(shapeOf(runSummary(runDocument(text)))).toEqual(expected)
      }),
      { ...runs(100), examples: attacks.map((attack) => [attack]) },
    )
  })
})

test('a page of many assets ends before 1 MiB, and says how many it leaves out', async () => {
  const { assets: found, ...rest } = await report(assets)
  const failed = found.find(({ id }) => id === 'no')!
  const many = Array.from({ length: 5000 }, (_, index) => ({ ...failed, id: `${'é'.repeat(250)}${index}` }))
  const markdown = markdownReport({ ...rest, assets: many })
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
  ])
  expect(lines).toContain('2 assets · 1 fresh · 1 new · 1 created')
  expect(lines).toContain(
    '| <code>hero</code> | generated | <code>hero</code> | 1536 × 1024 · 48.2 kB | 12.5 s | <code>USD 0<wbr>&#46;04</code> |',
  )
})
