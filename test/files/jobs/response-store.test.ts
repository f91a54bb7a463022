import { expect, test } from 'vitest'
import type { NewJob, ResponseJobs } from '../../../src/files/jobs/job-record.ts'
import { openJobStore, openResponseStore } from '../../../src/files/jobs/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { newJob } from './job-samples.ts'

function newResponse(overrides: Partial<NewJob<ResponseJobs>> = {}): NewJob<ResponseJobs> {
  return { ...newJob(), kind: 'response', command: 'respond', ...overrides }
}

function bothStores() {
  const [folder, clock] = [temporaryFolder(), fakeClock()]
  return { videos: openJobStore(folder, clock), responses: openResponseStore(folder, clock) }
}

test('a background response is on record beside the videos, and neither is found among the others', async () => {
  const { videos, responses } = bothStores()
  await (await videos.create(newJob())).update({ id: 'video_1' })
  await (await responses.create(newResponse({ checks_schema: true }))).update({ id: 'resp_1' })
  expect((await responses.last())?.record).toMatchObject({ id: 'resp_1', checks_schema: true })
  expect((await videos.last())?.record.id).toBe('video_1')
  expect(await videos.find('resp_1')).toBeUndefined()
  expect((await responses.find('resp_'))?.record.kind).toBe('response')
  expect((await videos.list()).warnings).toEqual([])
})

test.each(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const)(
  'the state %s is recorded and read again',
  async (state) => {
    const { responses } = bothStores()
    await (await responses.create(newResponse())).update({ id: 'resp_1', state })
    expect((await responses.list()).jobs.map(({ record }) => record.state)).toEqual([state])
  },
)

test.each(['cancelled', 'incomplete'] as const)(
  'a response that is %s stays so, whatever a slower look-up reports',
  async (state) => {
    const { responses } = bothStores()
    const job = await responses.create(newResponse())
    await job.update({ id: 'resp_1', state })
    await job.update({ state: 'in_progress' })
    expect((await responses.last())?.record.state).toBe(state)
  },
)
