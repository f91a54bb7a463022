import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JobSummary } from '../../src/events/video.ts'
import { cellsOf } from '../../src/output/line-breaks.ts'
import { jobTable } from '../../src/output/job-table.ts'
import type { Styles } from '../../src/output/screen.ts'
import { anyText } from '../support/any-text.ts'
import { hostileNames } from '../support/hostile-names.ts'
import { runs } from '../support/sample.ts'

const now = 1_800_000_000

function job(changes: Partial<JobSummary>): JobSummary {
  return {
    id: 'video_1',
    kind: 'video',
    state: 'in_progress',
    status: null,
    progress: null,
    model: 'video-model',
    prompt: 'a paper boat',
    base_url: 'https://gateway.example',
    is_sandbox: false,
    idempotency_key: 'key-1',
    created_at: now - 125,
    checked_at: null,
    completed_at: null,
    expires_at: null,
    files: [],
    ...changes,
  }
}

const jobs = [
  job({
    id: 'video_68d4a1b2c3d4e5f6',
    progress: 40,
    expires_at: now + 3000,
    prompt: 'a paper boat\non a pond',
  }),
  job({
    id: 'models/veo/operations/op_9f3c',
    state: 'completed',
    completed_at: now - 65,
    progress: 100,
    expires_at: now - 1,
  }),
  job({ id: null, state: 'unknown', idempotency_key: '0198c2aa-0000-7000-8000-000000000000' }),
  job({ id: 'video_68d4a1b2ffff', state: 'completed', files: ['/a.mp4'], expires_at: now - 1 }),
  job({ id: 'video_failed', state: 'failed', expires_at: now - 1, prompt: '\x1b[31m紙の船' }),
]

const shown = (columns: number | undefined) => `\n${jobTable(jobs, { now, columns })}`

test('at 100 columns', () => {
  expect(shown(100)).toMatchInlineSnapshot(`
    "
    ID               STATE        DONE      AGE    RESULT      MODEL        PROMPT
    video_68d4a1b2c  in_progress  40%       2 min  for 50 min  video-model  a paper boat on a pond
    op_9f3c          completed    65 s ago  2 min  expired     video-model  a paper boat
    -                unknown                2 min              video-model  a paper boat
      no reply received; idempotency key:
      0198c2aa-0000-7000-8000-000000000000
    video_68d4a1b2f  completed              2 min  saved       video-model  a paper boat
    video_failed     failed                 2 min              video-model  ␛[31m紙の船
    "
  `)
})

test('at 60 columns what matters less is left out', () => {
  expect(shown(60)).toMatchInlineSnapshot(`
    "
    ID               STATE        RESULT      PROMPT
    video_68d4a1b2c  in_progress  for 50 min  a paper boat on …
    op_9f3c          completed    expired     a paper boat
    -                unknown                  a paper boat
      no reply received; idempotency key:
      0198c2aa-0000-7000-8000-000000000000
    video_68d4a1b2f  completed    saved       a paper boat
    video_failed     failed                   ␛[31m紙の船
    "
  `)
})

test('for a script: everything, with tabs between', () => {
  expect(shown(undefined).replaceAll('\t', ' | ')).toMatchInlineSnapshot(`
    "
    video_68d4a1b2c3d4e5f6 | in_progress | 40% | 2027-01-15T07:57:55Z | 2027-01-15T08:50:00Z |  | video-model | a paper boat on a pond | 
    models/veo/operations/op_9f3c | completed | 100% | 2027-01-15T07:57:55Z | 2027-01-15T07:59:59Z | expired | video-model | a paper boat | 
    key:0198c2aa-0000-7000-8000-000000000000 | unknown |  | 2027-01-15T07:57:55Z |  |  | video-model | a paper boat | 
    video_68d4a1b2ffff | completed |  | 2027-01-15T07:57:55Z | 2027-01-15T07:59:59Z | saved | video-model | a paper boat | 
    video_failed | failed |  | 2027-01-15T07:57:55Z | 2027-01-15T07:59:59Z |  | video-model | ␛[31m紙の船 | 
    "
  `)
})

test("the gateway's own word has a column where it is another, and is harmless", () => {
  const some = [
    job({ id: 'video_a', status: 'rendering', progress: 40 }),
    job({ id: 'video_b', status: 'In Progress' }),
    job({ id: 'video_c', status: 'dream\u001b[2J\ting' }),
  ]
  expect(`\n${jobTable(some, { now, columns: 100 })}`).toBe(`
ID       STATE        GATEWAY SAYS   DONE  AGE    MODEL        PROMPT
video_a  in_progress  rendering      40%   2 min  video-model  a paper boat
video_b  in_progress                       2 min  video-model  a paper boat
video_c  in_progress  dream␛[2J ing        2 min  video-model  a paper boat
`)
  const lines = jobTable(some, { now, columns: undefined }).split('\n')
  expect(lines.map((line) => line.split('\t')[8])).toEqual(['rendering', '', 'dream␛[2J ing', undefined])
})

test('a state has its colour, and nothing else', () => {
  const mark = (name: string) => (text: string) => `<${name}>${text}</>`
  const names = ['plain', 'dim', 'accent', 'success', 'warning', 'error'] as const
  const styles = Object.fromEntries(names.map((name) => [name, mark(name)])) as unknown as Styles
  const table = jobTable(jobs, { now, columns: 100, styles })
  expect(table.match(/<.*<\/>/g)).toEqual([
    '<accent>in_progress</>',
    '<success>completed  </>',
    '<dim>unknown    </>',
    '<success>completed  </>',
    '<error>failed     </>',
  ])
  expect(table.replaceAll(/<.*?>/g, '')).toBe(jobTable(jobs, { now, columns: 100 }))
})

test('the short id finds its job, and no other', () => {
  const ids = ['video_aaaaaaaaaaaa1', 'video_aaaaaaaaaaaa2', 'models/a/video_b', 'video_cccccccccccccccccc']
  const jobs = ids.map((id) => job({ id }))
  const short = jobTable(jobs, { now, columns: 200 }).match(/^video_\S+/gm)
  expect(short).toEqual(['video_aaaaaaaaaaaa1', 'video_aaaaaaaaaaaa2', 'video_b', 'video_ccccccccccccc'])
})

test('whatever jobs hold, no line is wider than the terminal, acts on it, or pretends to be another', () => {
  const text = fc.oneof(fc.constantFrom(...hostileNames), anyText({ maxLength: 90 }))
  const anyJob = fc.record({
    id: fc.option(text),
    state: fc.constantFrom('pending', 'completed', 'failed', 'unknown' as const),
    status: fc.option(text),
    progress: fc.option(fc.double({ noNaN: true })),
    model: text,
    prompt: text,
    created_at: fc.oneof(fc.integer(), fc.double({ noNaN: true })),
    expires_at: fc.option(fc.double({ noNaN: true })),
  }) as fc.Arbitrary<Partial<JobSummary>>
  const tables = fc.tuple(fc.array(anyJob, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 200 }))
  fc.assert(
    fc.property(tables, ([some, columns]) => {
      const all = some.map(job)
      const plain = jobTable(all, { now, columns: undefined })
      expect(plain.split('\n')).toHaveLength(all.length + 1)
      for (const line of plain.split('\n').slice(0, -1)) expect(line.split('\t')).toHaveLength(9)
      const table = jobTable(all, { now, columns })
      const unknown = all.filter(({ id }) => id === null).length
      expect(table.split('\n')).toHaveLength(all.length + 2 * unknown + 2)
      // oxlint-disable-next-line no-control-regex
      expect(plain + table).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
      const rows = table.split('\n').filter((line) => !line.startsWith('  '))
      expect(rows.filter((line) => cellsOf(line) > Math.max(columns, 1))).toEqual([])
    }),
    runs(500),
  )
})
