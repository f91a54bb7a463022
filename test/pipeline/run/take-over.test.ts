import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openJournal, type JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { takeOverState } from '../../../src/pipeline/run/take-over.ts'
import { Replaced } from '../../../src/pipeline/store/blob-store.ts'
import { Results } from '../../../src/pipeline/store/results.ts'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { withFsFault } from '../../support/fs-faults.ts'
import { sample } from '../../support/sample.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { intent } from '../journal/journal-samples.ts'
import { block } from '../shards/sample-parts.ts'
import { digestOf } from '../store/store-samples.ts'

const key = 'a'.repeat(64)
let processes = 2 ** 30

/** A project as version 0.1.0 has left it. */
async function oldProject(files: Readonly<Record<string, string>>, events: readonly JournalEvent[] = []) {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  writeFiles(project.stateFolder, files)
  const journal = await openJournal(project, context.clock, null)
  for (const event of events) await journal.append(event)
  await journal.close()
  const replaced = new Replaced(context, project)
  return {
    /** Each by a process of its own, after which none is running. */
    takeOver() {
      const own = ++processes
      const clock = fakeClock({ random: seededRandom('take-over', own) })
      const isRunning = (other: number) => other === own
      return takeOverState({ ...context, clock, processes: { own, isRunning } }, project, true)
    },
    results: new Results(project, replaced),
    isPutAside: async (content: string) => (await replaced.open(digestOf(content))) !== undefined,
    has: (path: string) => existsSync(join(project.stateFolder, path)),
    read: (path: string) => readFileSync(join(project.stateFolder, path), 'utf8'),
  }
}

const candidate = (content: string, made = content) => {
  const { key: _, fields: __, picked: ___, adopted: ____, prompt: _____, ...result } = block('hero.png', made)
  const record = { version: 1, instance: 'hero', key, variant: 2, state: 'candidate', reasons: [], result }
  return {
    [`candidates/${key}/record.json`]: JSON.stringify(record),
    [`candidates/${key}/1-hero.png`]: content,
  }
}

const failed = 'b'.repeat(64)

const again: JournalEvent[] = [{ type: 'discard', key }, intent(key, { variant: 2 })]

test.each<[string, string, string, string, JournalEvent[]]>([
  ['one that is being made again', 'one', 'one', key, again],
  ['a damaged one', 'onE', 'one', failed, []],
])('%s is put aside, and what its request, or another one, has left stays', async (...row) => {
  const [, content, made, left, events] = row
  const files = { ...candidate(content, made), [`work/${left}/1.png`]: 'paid for' }
  const { takeOver, results, isPutAside, read } = await oldProject(files, events)
  await takeOver()
  expect([await results.get(key), await isPutAside(content)]).toEqual([undefined, true])
  expect(read(`results/${left}/1.png`)).toBe('paid for')
})

test.each(['stop after', 'ENOSPC'])('with %s at any step the next one takes all over', async (fault) => {
  const files = { ...candidate('one'), [`work/${failed}/1.png`]: 'paid for' }
  const whole = await oldProject(files)
  const { steps } = await withFsFault({ step: -1, fault }, whole.takeOver)
  expect(steps.length).toBeGreaterThan(50)
  for (const step of sample([...steps.keys()], 30)) {
    const { takeOver, results, read, has } = await oldProject(files)
    await withFsFault({ step, fault }, () => takeOver().catch(() => {}))
    await takeOver()
    expect([step, (await results.get(key))?.instance]).toEqual([step, 'hero'])
    expect(read(`results/${failed}/1.png`)).toBe('paid for')
    expect([has('candidates'), has('work')]).toEqual([false, false])
  }
})
