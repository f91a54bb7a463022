import { expect, test } from 'vitest'
import { videoWorkspace } from './video-run.ts'

const nowhere = { url: 'http://127.0.0.1:8080' }

test.each([
  ['16:9', '2', 1280, 720],
  ['9:16', '3', 720, 1280],
])('a video of %s and %s s is made, saved and checked', async (aspect, seconds, width, height) => {
  const workspace = videoWorkspace(nowhere)
  const words = ['--aspect-ratio', aspect, '--duration-seconds', seconds, '--json', 'A paper boat']
  const { code, out } = await workspace.run(['generate', '--sandbox', '--wait', '-o', 'x.mp4', ...words])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    state: 'completed',
    kind: 'operation',
    video: null,
    files: [
      { path: 'x.mp4', format: 'mp4', mime_type: 'video/mp4', width, height, seconds: Number(seconds) },
    ],
    failures: [],
    warnings: [],
  })
})

test('a job on record knows that it is in the sandbox; only a new one has to be told', async () => {
  const workspace = videoWorkspace(nowhere)
  const { out } = await workspace.run(['remix', '--sandbox', '--no-wait', 'video_sandbox_source', 'At night'])
  const id = out.trim()
  expect((await workspace.run(['status', id])).out).toContain(`id        ${id}`)
  const waited = await workspace.run(['wait', '--last', '-o', 'night.mp4'])
  expect([waited.code, waited.out]).toEqual([0, 'night.mp4\n'])
  const listed = JSON.parse((await workspace.run(['jobs', '--json'])).out) as { jobs: unknown[] }
  expect(listed.jobs).toMatchObject([{ id, is_sandbox: true, state: 'completed' }])
  const paid = await workspace.run(['remix', '-m', 'video-model-remix', '--no-wait', id, 'At dawn'])
  expect([paid.code, paid.err]).toEqual([2, expect.stringContaining('add --sandbox')])
})
