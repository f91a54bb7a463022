import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { recordKinds } from '../../../src/files/calls/job-record.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyPlace, newJob } from './job-samples.ts'

const secret = 'sk-canary-0123456789'

function newStore() {
  const folder = temporaryFolder()
  const options = {
    clean: (text: string) => text.replaceAll(secret, '[hidden]'),
    readReply: (text: string) => {
      const id = /"id":"(\w+)"/.exec(text)?.[1]
      return id === undefined ? undefined : { id, kind: 'video' as const }
    },
  }
  const store = new JobStore(folder, fakeClock(), options)
  const replies = () =>
    readdirSync(folder, { recursive: true })
      .map((name) => join(folder, String(name)))
      .filter((name) => /replies.[0-9a-f]{16}$/.test(name))
  return { folder, store, replies }
}

test('each piece of the reply is on disk at once, for the user alone', async () => {
  const { store, replies } = newStore()
  const log = await (await store.create(newJob())).openReplyLog()
  const [path = ''] = replies()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  log.add(Buffer.from('{"object":"video",'))
  expect(readFileSync(path, 'utf8')).toBe('{"object":"video",')
  log.add(Buffer.from('"id":"video_1"'))
  expect(readFileSync(path, 'utf8')).toBe('{"object":"video","id":"video_1"')
  expect((await store.last(anyPlace, recordKinds))!.record).toMatchObject({ id: 'video_1', state: 'unknown' })
  expect((await store.find('video_1'))!.record.id).toBe('video_1')
  log.close()
})

test('the reply goes when the id is on record, and with the job', async () => {
  const { store, replies } = newStore()
  const job = await store.create(newJob())
  const log = await job.openReplyLog()
  log.add(Buffer.from('{"id":"video_1"}'))
  await job.update({ error: { code: 'x', message: 'y' } })
  expect(replies().length).toBe(1)
  await job.update({ id: 'video_1' })
  expect(replies()).toEqual([])
  log.close()
  const other = await store.create(newJob())
  const otherLog = await other.openReplyLog()
  otherLog.add(Buffer.from('{"id":"video_2"'))
  otherLog.close()
  await store.forget([other])
  expect(replies()).toEqual([])
  expect((await store.list()).jobs.length).toBe(1)
})

test('a process that resumes a job records the id it has found', async () => {
  const { folder, store, replies } = newStore()
  const log = await (await store.create(newJob())).openReplyLog()
  log.add(Buffer.from('{"id":"video_1"'))
  log.close()
  await (await store.last(anyPlace, recordKinds))!.update({ state: 'in_progress' })
  expect(replies()).toEqual([])
  const plain = await new JobStore(folder, fakeClock()).last(anyPlace, recordKinds)
  expect(plain!.record).toMatchObject({ id: 'video_1', kind: 'video', state: 'in_progress' })
})

test('no key reaches the disk, even in two pieces, and no more than the beginning does', async () => {
  const { store, replies } = newStore()
  const log = await (await store.create(newJob())).openReplyLog()
  log.add(Buffer.from(`{"id":"video_1","echo":"${secret.slice(0, 9)}`))
  log.add(Buffer.from(`${secret.slice(9)}"`))
  const [path = ''] = replies()
  expect(readFileSync(path, 'utf8')).toBe('{"id":"video_1","echo":"[hidden]"')
  for (let count = 0; count < 200; count++) log.add(Buffer.alloc(1000, 'x'))
  expect(statSync(path).size).toBeLessThanOrEqual(163_840)
  log.close()
  log.add(Buffer.from('after the end'))
})
