import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/pipeline/journal/journal-event.ts'
import { writeLine } from '../../../src/pipeline/journal/journal-line.ts'
import type { Lock } from '../../../src/pipeline/lock/lock-block.ts'
import { readLock, writeLock } from '../../../src/pipeline/lock/project-lock.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { takeParts } from '../../../src/pipeline/changes/take-parts.ts'
import { openStore } from '../../../src/pipeline/store/blob-store.ts'
import { openCandidates } from '../../../src/pipeline/store/candidate-store.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { block, leavePart, manifestDigest, sha256Of, type SamplePart } from '../shards/sample-parts.ts'

const began: Lock = new Map([
  ['hero', block('hero.png', 'old hero')],
  ['old', block('old.png', 'copy')],
  ['teaser', block('teaser.mp4', 'teaser')],
])
const key = 'c'.repeat(64)
const intent: JournalEvent = {
  type: 'intent',
  instance: 'banner',
  key: 'b'.repeat(64),
  variant: 1,
  idempotency_key: 'once',
  creates: 1,
  cost: null,
}
const journal = [
  { type: 'begin', run: 'r', manifest: 'modelgate.yaml', version: '1' } as const,
  intent,
  { type: 'end', run: 'r' } as const,
]
  .map((event) => writeLine(event, 0))
  .join('')

const samples: readonly SamplePart[] = [
  {
    index: 1,
    total: 2,
    began,
    instances: [
      { id: 'hero', outcome: 'done' },
      { id: 'banner', outcome: 'unknown' },
    ],
    lock: new Map([['hero', block('hero.png', 'hero')]]),
    contents: ['hero'],
    journal,
    report: { exit: 'unknown' },
  },
  {
    index: 2,
    total: 2,
    began,
    instances: [
      { id: 'copy', outcome: 'done' },
      { id: 'teaser', outcome: 'outdated' },
    ],
    lock: new Map([['copy', block('copy/copy.png', 'copy')]]),
    contents: ['copy'],
    candidates: { [key]: 'new teaser' },
    removed: ['old'],
    report: { exit: 'outdated' },
  },
]

/** A checkout of the project that the parts began with, and the parts beside it. */
async function checkout(files: Readonly<Record<string, string>> = {}, parts = samples) {
  const root = temporaryFolder()
  const context = testContext({ cwd: root })
  const project = projectOf(join(root, 'modelgate.yaml'), false)
  await writeLock(context, project, began)
  writeFiles(root, { 'hero.png': 'old hero', 'old.png': 'copy', 'teaser.mp4': 'teaser', ...files })
  const folders = []
  for (const sample of parts) folders.push((await leavePart(sample)).folder)
  const recorded: JournalEvent[] = []
  const call = {
    context,
    project,
    manifest: manifestDigest,
    lock: began,
    selected: () => ['hero', 'banner', 'copy', 'teaser'],
    placesOf: (id: string) => [id === 'copy' ? 'copy/copy.png' : `${id}.png`],
    store: openStore(context, project),
    candidates: openCandidates(context, project),
    record: (event: JournalEvent) => Promise.resolve(void recorded.push(event)),
  }
  const contentOf = (path: string) => {
    const file = join(root, path)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
  return { root, call, folders, recorded, contentOf }
}

test('a part takes back nothing that is not its own', async () => {
  const stranger = { ...intent, instance: 'copy' }
  const events: readonly JournalEvent[] = [
    stranger,
    { type: 'discard', key: block('teaser.mp4', 'teaser').key },
    { type: 'discard', key: intent.key },
    intent,
  ]
  const hostile = { ...samples[0]!, journal: events.map((event) => writeLine(event, 0)).join('') }
  const { call, folders, recorded } = await checkout({}, [hostile, samples[1]!])
  await takeParts(call, folders)
  expect(recorded).toEqual([{ type: 'discard', key: intent.key }, intent])
})

test('puts files, lock, store, candidates and journal where a run of the whole has them', async () => {
  const { call, folders, recorded, contentOf } = await checkout()
  const merged = await takeParts(call, folders)
  expect(merged).toMatchObject({ kept: [], exit: 'unknown' })
  expect(merged.instances.map(({ id }) => id)).toEqual(['hero', 'banner', 'copy', 'teaser'])
  const lock = new Map([
    ['copy', block('copy/copy.png', 'copy')],
    ['hero', block('hero.png', 'hero')],
    ['teaser', block('teaser.mp4', 'teaser')],
  ])
  expect(merged.lock).toEqual(lock)
  expect(await readLock(call.context, call.project)).toEqual(lock)
  expect(['hero.png', 'copy/copy.png', 'old.png', 'teaser.mp4'].map(contentOf)).toEqual([
    'hero',
    'copy',
    undefined,
    'teaser',
  ])
  for (const content of ['hero', 'copy', 'old hero']) {
    expect(await call.store.has(sha256Of(content))).toBe(true)
  }
  expect(contentOf(`.modelgate/candidates/${key}/1-teaser.mp4`)).toBe('new teaser')
  expect(recorded).toEqual([intent])
})

test('finds the parts in a folder of them', async () => {
  const { root, call, folders } = await checkout()
  mkdirSync(join(root, 'parts'))
  for (const [at, folder] of folders.entries()) {
    writeFiles(join(root, 'parts', `${at + 1}-of-2`), filesIn(folder))
  }
  expect(await takeParts(call, ['parts'])).toMatchObject({ exit: 'unknown' })
})

test('keeps a file that was changed by hand, and one that is in the way', async () => {
  const done = samples.map((sample) => ({ ...sample, report: { ...sample.report, exit: 'ok' } }) as const)
  const { call, folders, contentOf } = await checkout({ 'hero.png': 'mine', 'copy/copy.png': 'theirs' }, done)
  const merged = await takeParts(call, folders)
  expect(merged).toMatchObject({
    kept: [
      { instance: 'hero', path: 'hero.png' },
      { instance: 'copy', path: 'copy/copy.png' },
    ],
    exit: 'outdated',
  })
  expect([contentOf('hero.png'), contentOf('copy/copy.png')]).toEqual(['mine', 'theirs'])
  expect(await call.store.has(sha256Of('hero'))).toBe(true)
})

test('can be begun again when it was killed before the lock was written', async () => {
  const { root, call, folders, contentOf } = await checkout()
  await takeParts(call, folders)
  rmSync(join(root, 'modelgate.lock'))
  await writeLock(call.context, call.project, began)
  const merged = await takeParts(call, folders)
  expect(merged).toMatchObject({ kept: [], exit: 'unknown' })
  expect(contentOf('hero.png')).toBe('hero')
  expect((await readLock(call.context, call.project)).has('copy')).toBe(true)
})

test('writes nothing when a part is damaged or missing, and tells of all', async () => {
  const { root, call, folders } = await checkout()
  const before = filesIn(root)
  await expect(takeParts(call, folders.slice(0, 1))).rejects.toMatchObject({ code: 'parts_mismatch' })
  for (const [at, content] of ['hero', 'copy'].entries()) {
    writeFileSync(join(folders[at]!, 'blobs', sha256Of(content)), 'other')
  }
  const error: unknown = await takeParts(call, folders).catch((reason: unknown) => reason)
  expect((error as Error).message.match(/is not what it was/g)).toHaveLength(2)
  expect(filesIn(root)).toEqual(before)
})

function filesIn(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
        return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
      }),
  )
}
