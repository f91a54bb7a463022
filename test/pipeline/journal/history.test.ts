import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { amountOf } from '../../../src/cost/amount.ts'
import { History, readHistory, writeLine, type JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import type { Project } from '../../../src/pipeline/project.ts'
import { failure, intent, remoteJob, result, sampleProject } from './journal-samples.ts'
import { runs } from '../../support/sample.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const first = '20261122T120000000-00000001'
const second = '20261122T130000000-00000002'

const end: JournalEvent = { type: 'end', run: first }
const begin = (run: string, manifest = 'modelgate.yaml'): JournalEvent => {
  return { type: 'begin', run, manifest, version: '1' }
}

/** Writes the journal of a run as it would be on disk, or with the given bytes. */
function writeRun(project: Project, run: string, events: readonly JournalEvent[] | Buffer): string {
  const folder = join(project.stateFolder, 'runs')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${run}.jsonl`)
  writeFileSync(path, Buffer.isBuffer(events) ? events : linesOf(events))
  return path
}

const linesOf = (events: readonly JournalEvent[]) => events.map((event) => writeLine(event, noon)).join('')

/** What of a history depends on single events. */
function facts({ results, intents, jobs, made, failures, unfinished }: History) {
  const keys = (map: ReadonlyMap<string, unknown>) => [...map.keys()].sort()
  const open = { intents: keys(intents), jobs: keys(jobs), made: keys(made) }
  const maps = { results: keys(results), ...open, failures: keys(failures) }
  return { ...maps, run: unfinished?.run, creates: unfinished?.used.creates }
}

function told(events: readonly JournalEvent[]): History {
  const history = new History()
  for (const event of events) history.note(event)
  return history
}

const discard = { type: 'discard', key: 'a' } as const
const noFacts = { model: null, request_id: null, usage: null }
const made = { origin: 'https://gateway.example', expires_at: 1, images: [], ...noFacts }
const addresses: JournalEvent = { type: 'made', key: 'a', made }
const release = { type: 'release', key: 'a', reason: 'refused' } as const
const again = intent('a', { idempotency_key: 'another' })
const after = (...events: JournalEvent[]) => told([begin(first), ...events])

/** Of a run that has sent one request. */
const sent = { results: [], intents: [], jobs: [], made: [], failures: [], run: first, creates: 1 }

test.each<[string, readonly JournalEvent[], object]>([
  ['was sent', [intent('a')], { intents: ['a'] }],
  ['was sent again as it was', [intent('a'), intent('a')], { intents: ['a'] }],
  ['has a job', [intent('a'), remoteJob('a')], { intents: ['a'], jobs: ['a'] }],
  ['has a job, and lost its intent', [remoteJob('a')], { jobs: ['a'], creates: 0 }],
  ['has addresses of pictures', [intent('a'), addresses], { intents: ['a'], made: ['a'] }],
  ['has a result', [intent('a'), remoteJob('a'), addresses, result('a')], { results: ['a'] }],
  ['has failed', [intent('a'), remoteJob('a'), failure('a')], { failures: ['a'] }],
  ['has failed, and is sent again', [intent('a'), failure('a'), again], { intents: ['a'], creates: 2 }],
  ['has failed, and then a result', [intent('a'), failure('a'), result('a')], { results: ['a'] }],
  ['was released', [intent('a'), remoteJob('a'), release], { creates: 0 }],
  ['was released, although it was not sent', [intent('b'), release], { intents: ['b'] }],
  ['was discarded', [intent('a'), remoteJob('a'), result('a'), discard], {}],
  ['was discarded after it failed', [intent('a'), failure('a'), discard], {}],
  ['was discarded, and made again', [intent('a'), discard, again], { intents: ['a'], creates: 2 }],
  ['is of an earlier run', [intent('a'), begin(second)], { intents: ['a'], run: second, creates: 0 }],
  ['is of a run that has ended', [intent('a'), end], { intents: ['a'], run: undefined, creates: undefined }],
])('a request that %s', (_, events, changes) => {
  expect(facts(after(...events))).toEqual({ ...sent, ...changes })
})

test('made again is what this run has discarded and then has a result of', () => {
  const history = after(result('a'), result('b'), discard)
  expect([history.discarded.has('a'), history.isOpen('a'), history.results.has('a')]).toEqual([
    true,
    false,
    false,
  ])
  expect([...history.remade]).toEqual([])
  history.note(result('a'))
  history.note(result('b'))
  expect([history.discarded.has('a'), history.results.get('a')?.rejected]).toEqual([false, null])
  expect([...history.remade]).toEqual(['a'])
  history.note(begin(second))
  expect([...history.remade]).toEqual([])
})

test('what a run has spent is the sum of its requests; one that is sent again counts once', () => {
  const half = { cost: 0.5 }
  const history = after(intent('a', half), intent('a', half), intent('b', { cost: 0.25 }), intent('c'))
  expect(history.unfinished?.used).toEqual({ creates: 3, cost: amountOf(0.75) })
  expect([...history.costs]).toEqual([
    ['a', 0.5],
    ['b', 0.25],
  ])
})

describe('on disk', () => {
  test('what a project has left open is no run of its part', async () => {
    const [part, whole] = [sampleProject(), sampleProject()]
    writeRun(whole, first, [begin(first), intent('a')])
    writeRun(part, second, [begin(second), intent('b'), end])
    expect(facts(await readHistory(part, whole))).toMatchObject({ intents: ['a', 'b'], run: undefined })
    writeRun(part, second, [begin(second), intent('b')])
    expect(facts(await readHistory(part, whole))).toMatchObject({ intents: ['a', 'b'], run: second })
  })

  test('the journals are read in the order of their runs, and only those of the manifest', async () => {
    const project = sampleProject()
    writeRun(project, second, [begin(second), discard])
    writeRun(project, first, [begin(first), intent('a'), result('a'), end])
    writeRun(project, '20261122T140000000-00000003', [begin('x', 'canon.yaml'), intent('z')])
    writeFileSync(join(project.stateFolder, 'runs/modelgate.yaml.0123456789abcdef.owner'), '{}')
    const history = await readHistory(project)
    expect(facts(history)).toMatchObject({ results: [], intents: [], run: second })
    expect(history.problems).toEqual([])
  })

  test('a damaged line is named, and the others are read', async () => {
    const project = sampleProject()
    const bytes = linesOf([begin(first), intent('a'), intent('b'), result('a')]).replace(
      '"key":"b"',
      '"key":"x"',
    )
    const path = writeRun(project, first, Buffer.from(bytes))
    const history = await readHistory(project)
    expect(facts(history)).toMatchObject({ results: ['a'], intents: [], run: first })
    expect(history.problems).toEqual([`Line 3 of "${path}" cannot be read; the other lines are used.`])
    // It could be the intent of any request, until nothing was left to do.
    expect(history.damaged).toEqual([`line 3 of "${path}" is damaged`])
    writeRun(project, first, Buffer.from(bytes + linesOf([end])))
    expect((await readHistory(project)).damaged).toEqual([])
    writeRun(project, first, Buffer.from('x\n'.repeat(1000)))
    expect((await readHistory(project)).problems).toEqual([
      `Lines 1, 2, 3, 4, 5 and 995 more of "${path}" cannot be read; the other lines are used.`,
    ])
  })

  test('a run whose first line is damaged is read, but not gone on with: it may be of another manifest', async () => {
    const project = sampleProject()
    const bytes = Buffer.from(linesOf([begin(first), intent('a')]))
    bytes[3]! ^= 1
    writeRun(project, first, bytes)
    const history = await readHistory(project)
    expect(facts(history)).toMatchObject({ intents: ['a'], run: undefined })
    expect(history.problems).toHaveLength(1)
  })

  const events = [begin(first), intent('a'), remoteJob('a'), intent('b'), failure('b'), result('a')]

  /** How many lines end within so many bytes. */
  const linesIn = (bytes: Buffer, end: number) => bytes.subarray(0, end).filter((byte) => byte === 10).length

  test('a flipped bit is noticed wherever it is, and takes no more than its line', async () => {
    const project = sampleProject()
    const bytes = Buffer.from(linesOf(events))
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (at, bit) => {
        const flipped = Buffer.from(bytes)
        flipped[at]! ^= 1 << bit
        writeRun(project, first, flipped)
        const { problems, results, intents, failures } = await readHistory(project)
        const line = linesIn(bytes, at)
        // A newline less joins two lines, one more makes two of one; behind the last line it only ends that sooner.
        const lost = new Set([line, ...(bytes[at] === 10 ? [line + 1] : [])])
        const rest = told(events.filter((_, index) => !lost.has(index)))
        expect([...results.keys()]).toEqual([...rest.results.keys()])
        expect([...intents.keys()]).toEqual([...rest.intents.keys()])
        expect([...failures.keys()]).toEqual([...rest.failures.keys()])
        // A last line that has lost its newline passes for one that was never finished.
        expect(problems.length > 0).toBe(at < bytes.length - 1)
      }),
      runs(400),
    )
  })
})
