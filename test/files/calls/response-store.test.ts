import { expect, test } from 'vitest'
import { recordKinds, videoKinds, type NewJob } from '../../../src/files/calls/job-record.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'

const newResponse = (overrides: Partial<NewJob> = {}): NewJob =>
  newJob({ kind: 'response', command: 'respond', ...overrides })
const newStore = () => new JobStore(temporaryFolder(), fakeClock())

test('a background response is on record beside the videos, and each is found by its id', async () => {
  const store = newStore()
  await (await store.create(newJob())).update({ id: 'video_1' })
  await (await store.create(newResponse({ checks_schema: true }))).update({ id: 'resp_1' })
  expect((await store.last(anyPlace, ['response']))?.record).toMatchObject({
    id: 'resp_1',
    checks_schema: true,
  })
  expect((await store.last(anyPlace, videoKinds))?.record.id).toBe('video_1')
  expect((await store.find('resp_'))?.record.kind).toBe('response')
  expect((await store.list(videoKinds)).jobs.map(({ record }) => record.id)).toEqual(['video_1'])
  expect(await store.list()).toMatchObject({ jobs: [{}, {}], warnings: [] })
})

test('the last job is that of this terminal, else that of this folder, and never that of another', async () => {
  const clock = fakeClock()
  const store = new JobStore(temporaryFolder(), clock)
  const output = (cwd: string) => ({ output: null, folder: null, force: false, cwd })
  for (const [id, cwd, terminal] of [
    ['mine', '/a', 'tty-1'],
    ['other terminal', '/a', 'tty-2'],
    ['of a script', '/b', undefined],
  ] as const) {
    await clock.advance(1000)
    const place = terminal === undefined ? {} : { terminal }
    await (await store.create(newJob({ output: output(cwd), ...place }))).update({ id })
  }
  const lastOf = async (terminal: string | undefined, cwd: string) =>
    (await store.last({ terminalId: terminal, cwd }, recordKinds))?.record.id
  expect(await lastOf('tty-1', '/b')).toBe('mine')
  expect(await lastOf('tty-3', '/b')).toBe('of a script')
  expect(await lastOf(undefined, '/a')).toBe('other terminal')
  expect(await lastOf('tty-3', '/c')).toBeUndefined()
})
