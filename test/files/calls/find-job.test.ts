import { expect, test } from 'vitest'
import { UsageError } from '../../../src/errors.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { hostileNames } from '../../support/hostile-names.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { newJob } from './job-samples.ts'
import { sample } from '../../support/sample.ts'

async function storeWith(ids: readonly (string | null)[]) {
  const clock = fakeClock()
  const store = new JobStore(temporaryFolder(), clock)
  for (const id of ids) {
    await (await store.create(newJob({ kind: id?.includes('/') ? 'operation' : 'video' }))).update({ id })
    await clock.advance(1000)
  }
  return store
}

const operation = 'models/veo/operations/op_9f3c'

test.each([
  ['video_1', 'video_1'],
  ['video_12', 'video_12'],
  ['video_12345', 'video_12345'],
  ['video_123', 'video_12345'],
  [operation, operation],
  ['op_9f3c', operation],
  ['op_9', operation],
  ['models/veo', operation],
  ['op_', undefined],
  ['VIDEO_1', undefined],
  ['', undefined],
  ['operations', undefined],
  ['video_9', undefined],
])('%s finds %s', async (text, id) => {
  const store = await storeWith([null, 'video_1', 'video_12', 'video_12345', operation, null])
  expect((await store.find(text))?.record.id).toBe(id)
})

test('a beginning of several is refused, and all of them named', async () => {
  const store = await storeWith(['video_1', 'video_2', 'video_2', operation])
  const error: unknown = await store.find('video').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(UsageError)
  expect(error).toMatchObject({ exitCode: 2, code: 'unknown_id' })
  expect((error as Error).message).toBe('2 jobs have ids that begin with video:\n  video_2\n  video_1')
  const many = await storeWith(Array.from({ length: 13 }, (_, at) => `video_${at}`))
  await expect(many.find('vide')).rejects.toThrow(
    /^13 jobs .*\n {2}video_12\n(?: {2}video_\d+\n){9} {2}and 3 more$/,
  )
})

test('of several with the same id the newest is found', async () => {
  const store = await storeWith(['video_1', 'video_1'])
  const [newest] = (await store.list()).jobs
  expect((await store.find('video_1'))!.record).toEqual(newest!.record)
})

test('an id may be anything at all', async () => {
  const names = [...new Set(hostileNames)].filter((id) => id !== '')
  const ids = sample(names, 40)
  const store = await storeWith(ids)
  const { jobs, warnings } = await store.list()
  expect(warnings).toEqual([])
  expect(new Set(jobs.map(({ record }) => record.id))).toEqual(new Set(ids))
  for (const id of ids) expect((await store.find(id))?.record.id).toBe(id)
})
