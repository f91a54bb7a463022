import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  openJournal,
  readHistory,
  readLines,
  writeLine,
  type Journal,
  type JournalEvent,
} from '../../../src/pipeline/journal/journal.ts'
import type { Project } from '../../../src/pipeline/project.ts'
import { failureOf } from '../../support/config-place.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { withFsHook } from '../../support/fs-faults.ts'
import { failure, intent, remoteJob, result, sampleProject } from './journal-samples.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const first = '20261122T120000000-88888888'

const line = (event: object) => writeLine(event as JournalEvent, noon)
const read = (text: string) => [...readLines(Buffer.from(text))]

const begin = { type: 'begin', run: 'r', manifest: 'm.yaml', version: '1' } as const
const made = {
  type: 'made',
  key: 'a',
  made: {
    origin: 'https://gateway.example',
    expires_at: 1.5,
    images: [{ index: 1, url: 'https://files.example/1' }],
    model: null,
    request_id: null,
    usage: { total_tokens: 1 },
  },
} as const
const release = { type: 'release', key: 'a', reason: 'refused' } as const
const discard = { type: 'discard', key: 'a' } as const
const end = { type: 'end', run: 'r' } as const

describe('a line', () => {
  test('is read as it was written, whatever the event', () => {
    const events: readonly JournalEvent[] = [
      begin,
      intent('a'),
      intent('a', { cost: 0, creates: 0, queue: 'q', queue_at: 'redis://one' }),
      remoteJob('a'),
      made,
      result('a'),
      result('a', { rejected: ['too large', 'too dark'] }),
      failure('a'),
      release,
      discard,
      end,
    ]
    expect(read(events.map(line).join(''))).toEqual(events)
  })

  test('tells when it was written, and ends with its checksum', () => {
    const run = '20261122T120000000-00000001'
    expect(line({ ...begin, run, manifest: 'modelgate.yaml' })).toBe(
      '{"type":"begin","run":"20261122T120000000-00000001","manifest":"modelgate.yaml","version":"1","at":"2026-11-22T12:00:00.000Z","check":"b512db4b"}\n',
    )
    const lines = Array.from({ length: 400 }, (_, run) => line({ type: 'end', run: String(run) }))
    expect(lines.filter((text) => !/,"check":"[0-9a-f]{8}"}\n$/.test(text))).toEqual([])
  })

  // Readers rely on these: a line that lacks one is left out, rather than half of it believed.
  test.each<[object, string, readonly unknown[]]>([
    [begin, 'run', [undefined, 7]],
    [intent('a'), 'key', [undefined, 7]],
    [intent('a'), 'idempotency_key', [undefined, 7]],
    [intent('a'), 'creates', [undefined, -1, 0.5, '1']],
    [intent('a'), 'cost', [undefined, '0.1', true]],
    [remoteJob('a'), 'kind', [undefined, 7, 'picture']],
    [made, 'made', [undefined, null, { ...made.made, expires_at: '1' }, { ...made.made, images: [{}] }]],
    [result('a'), 'rejected', [undefined, 'no', [7], ['no', 7], {}]],
    [failure('a'), 'exit_code', [undefined, '9', -1]],
    [failure('a'), 'billed', [undefined, 7, 'perhaps']],
    [discard, 'key', [undefined, 7]],
  ])('%o has to have a valid %s', (event, name, wrong) => {
    for (const value of wrong) {
      expect(read(line({ ...event, [name]: value }))).toEqual([undefined])
    }
  })
})

const runs = (project: Project) => join(project.stateFolder, 'runs')
const pathOf = (project: Project, run: string) => join(runs(project), `${run}.jsonl`)
const textOf = (project: Project, run = first) => readFileSync(pathOf(project, run), 'utf8')
const typesIn = (text: string) => [...text.matchAll(/^\{"type":"(\w+)"/gm)].map(([, type]) => type)

/** Opens the journal as a run does. */
async function opened(
  project: Project,
  { isNew = false, clock = fakeClock({ start: noon }) }: { isNew?: boolean; clock?: FakeClock } = {},
): Promise<Journal> {
  const unfinished = isNew ? null : (await readHistory(project)).unfinished
  return await openJournal(project, clock, unfinished)
}

async function wrote(project: Project, ...events: JournalEvent[]): Promise<void> {
  const journal = await opened(project)
  for (const event of events) await journal.append(event)
  await journal.close()
}

describe('a new run', () => {
  test('has a file from its first event on, which only the user may read', async () => {
    const project = sampleProject()
    const journal = await opened(project)
    await journal.close()
    expect(() => readdirSync(project.stateFolder)).toThrow('ENOENT')
    await wrote(project, intent('a'))
    expect(readdirSync(runs(project))).toEqual([`${first}.jsonl`])
    expect(statSync(pathOf(project, first)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(textOf(project).split('\n')[0]!)).toMatchObject({
      type: 'begin',
      run: first,
      manifest: 'modelgate.yaml',
      version: __VERSION__,
    })
    expect(typesIn(textOf(project))).toEqual(['begin', 'intent'])
  })

  test('is named in folders that are on the disk before its first event is', async () => {
    const project = sampleProject()
    const steps: string[] = []
    const hook = (name: string, call: () => Promise<unknown>) => {
      steps.push(name)
      return call()
    }
    await withFsHook(hook, async () => {
      const journal = await opened(project)
      await journal.append(intent('a'))
      steps.push('appended')
      await journal.close()
    })
    // The journal itself is synced by another call.
    expect(steps.filter((name) => ['handle.sync', 'appended'].includes(name))).toEqual([
      'handle.sync',
      'handle.sync',
      'handle.sync',
      'appended',
    ])
  })

  test('comes after the newest one, also by a clock that was put back', async () => {
    const project = sampleProject()
    await wrote(project, { type: 'end', run: first })
    const journal = await opened(project, { clock: fakeClock({ start: noon - 3_600_000, random: () => 0 }) })
    expect(journal.run).toBe('20261122T120000001-00000000')
    await journal.append(intent('a'))
    expect((await readHistory(project)).unfinished?.run).toBe(journal.run)
    await journal.close()
  })
})

describe('an unfinished run', () => {
  test('that was cut at any byte has all events that were whole, and the new ones', async () => {
    const project = sampleProject()
    await wrote(project, intent('a'), remoteJob('a'), failure('a'))
    const whole = readFileSync(pathOf(project, first))
    const firstLine = whole.indexOf(10)
    for (let cut = firstLine; cut <= whole.length; cut++) {
      writeFileSync(pathOf(project, first), whole.subarray(0, cut))
      await wrote(project, intent('b'))
      const types = ['begin', 'intent', 'job', 'failure'].slice(0, linesIn(whole, cut + 1))
      expect(typesIn(textOf(project)), `cut at ${cut}`).toEqual([...types, 'intent'])
      const history = await readHistory(project)
      expect(history.problems, `cut at ${cut}`).toEqual([])
      expect(history.intents.has('b')).toBe(true)
    }
  })

  const linesIn = (bytes: Buffer, end: number) => bytes.subarray(0, end).filter((byte) => byte === 10).length
})

describe('appending', () => {
  /** Counts the syncs of the journal, and lets them fail from one on. */
  async function counted(failsFrom: number, action: () => Promise<void>): Promise<number> {
    let syncs = 0
    await withFsHook(async (name, call) => {
      const value = await call()
      if (name !== 'open') return value
      const handle = value as FileHandle
      const datasync = handle.datasync.bind(handle)
      handle.datasync = () => {
        if (++syncs < failsFrom) return datasync()
        return Promise.reject(Object.assign(new Error('EIO: injected'), { code: 'EIO' }))
      }
      return handle
    }, action)
    return syncs
  }

  test('after a failure nothing more is written: what is on the disk is not known', async () => {
    const project = sampleProject()
    const syncs = await counted(2, async () => {
      const journal = await opened(project)
      await journal.append(intent('a'))
      const before = textOf(project)
      const failures = [
        failureOf(() => journal.append(intent('b'))),
        failureOf(() => journal.append(intent('c'))),
      ]
      const [one, other] = await Promise.all(failures)
      expect(one).toContain('10 write_failed')
      expect(other).toBe(one)
      expect(await failureOf(() => journal.append(intent('d')))).toBe(one)
      await journal.close()
      expect(textOf(project)).toBe(before)
    })
    expect(syncs).toBe(2)
  })

  test('what could not be synced is taken off again: it was not believed', async () => {
    const project = sampleProject()
    await wrote(project, intent('a'))
    for (const left of [textOf(project), textOf(project).trimEnd()]) {
      writeFileSync(pathOf(project, first), left)
      await counted(1, async () => {
        const journal = await opened(project)
        expect(await failureOf(() => journal.append(intent('b')))).toContain('10 write_failed')
        await journal.close()
      })
      expect(textOf(project)).toBe(left)
    }
  })

  test('to a run whose file is gone fails: what it has paid for would be forgotten', async () => {
    const project = sampleProject()
    await wrote(project, intent('a'))
    const journal = await opened(project)
    rmSync(runs(project), { recursive: true })
    mkdirSync(runs(project))
    expect(await failureOf(() => journal.append(intent('b')))).toContain('10 not_found')
    await journal.close()
  })
})
