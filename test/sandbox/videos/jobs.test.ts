import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'
import { sourceVideo } from '../../../src/sandbox/videos/video-job.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { call, runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { fetchBytes, jobMs, makeVideo, operate, remix } from '../../support/video-calls.ts'

async function folderFor() {
  const folder = join(temporaryFolder(), 'state', 'sandbox')
  const clock = fakeClock()
  const start = (options: Partial<SandboxOptions> = {}) => runningSandbox({ clock, folder, ...options })
  return { folder, clock, start }
}

test('a job begun in one sandbox is looked up, downloaded and remixed in others', async () => {
  const { clock, start } = await folderFor()
  const first = await start()
  const { json } = await makeVideo(first)
  const { name } = (await operate(first)).json
  await first.close()
  await clock.advance(jobMs)
  const second = await start({ seed: 9 })
  expect((await call(second, `/v1/videos/${json.id}`)).json).toMatchObject({ status: 'completed' })
  expect((await call(second, `/v1beta/${name}`)).json.done).toBe(true)
  const third = await start()
  const film = async ({ url }: Sandbox) => (await fetchBytes(`${url}/v1/videos/${json.id}/content`)).bytes
  expect((await film(third)).equals(await film(second))).toBe(true)
  expect((await remix(third, json.id)).status).toBe(200)
  expect(second.created()).toBe(0)
})

test('sandboxes that begin at the same moment give different ids, and see all jobs', async () => {
  const { folder, clock } = await folderFor()
  let chance = 0
  const own = { ...clock, random: () => ++chance / 100 }
  const sandboxes = await Promise.all([1, 2, 3, 4].map(() => runningSandbox({ clock: own, folder })))
  const five = (sandbox: Sandbox) => [1, 2, 3, 4, 5].map(() => makeVideo(sandbox))
  const replies = await Promise.all(sandboxes.flatMap(five))
  expect(new Set(replies.map(({ json }) => json.id)).size).toBe(20)
  for (const sandbox of sandboxes) {
    expect((await call(sandbox, '/v1/videos?limit=100')).json.data).toHaveLength(21)
  }
  expect((await readdir(folder)).filter((name) => !name.endsWith('.json'))).toEqual([])
})

test('only the user may read what was asked for', async () => {
  const { folder, start } = await folderFor()
  await makeVideo(await start(), { prompt: 'a secret' })
  const [name] = await readdir(folder)
  expect(await readFile(join(folder, name!), 'utf8')).toContain('a secret')
  expect((await stat(join(folder, name!))).mode & 0o777).toBe(0o600)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
})

test('a day after its expiry a job is removed; deleted ones at once', async () => {
  const { folder, clock, start } = await folderFor()
  const sandbox = await start()
  const { json } = await makeVideo(sandbox)
  await clock.advance(25 * 3_600_000)
  await makeVideo(sandbox)
  expect(await readdir(folder)).toHaveLength(2)
  await clock.advance(jobMs)
  const last = (await makeVideo(sandbox)).json.id
  expect(await readdir(folder)).not.toContain(`${json.id}.json`)
  await clock.advance(jobMs)
  await call(sandbox, `/v1/videos/${last}`, undefined, { method: 'DELETE' })
  expect(await readdir(folder)).toHaveLength(1)
})

test('files that are no jobs are no jobs', async () => {
  const { folder, start } = await folderFor()
  await mkdir(folder, { recursive: true })
  const broken = ['', '{', 'null', '[]', '{"id":"f4"}', JSON.stringify({ ...sourceVideo, id: 'other' })]
  for (const [index, text] of broken.entries()) await writeFile(join(folder, `f${index}.json`), text)
  const sandbox = await start()
  for (const index of broken.keys()) {
    expect([index, (await call(sandbox, `/v1/videos/f${index}`)).status]).toEqual([index, 404])
  }
  expect((await call(sandbox, '/v1/videos')).json.data).toHaveLength(1)
})

test('a folder that cannot be made leaves jobs in memory', async () => {
  const { folder, start } = await folderFor()
  await mkdir(join(folder, '..'), { recursive: true })
  await writeFile(folder, 'a file')
  await chmod(folder, 0o400)
  const sandbox = await start()
  const { json } = await makeVideo(sandbox)
  expect((await call(sandbox, `/v1/videos/${json.id}`)).json.status).toBe('pending')
  expect((await call(sandbox, '/v1/videos')).json.data).toHaveLength(2)
})
