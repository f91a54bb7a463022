import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { videoWorkspace, type VideoRun, type VideoWorkspace } from './video-run.ts'

const nowhere = { url: 'http://127.0.0.1:8080' }
const quick = ['--sandbox', '--duration-seconds', '1']
const operate = (workspace: VideoWorkspace, ...words: readonly string[]): Promise<VideoRun> =>
  workspace.run(['generate', ...quick, '--wait', '-o', 'x.mp4', ...words])
const remix = (workspace: VideoWorkspace, ...words: readonly string[]): Promise<VideoRun> =>
  workspace.run(['remix', '--sandbox', '--wait', '-o', 'y.mp4', 'video_sandbox_source', ...words])

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

test.each([
  ['refusal', 9],
  ['block', 9],
  ['failure', 9],
  ['error', 9],
  ['filtered', 9],
  ['empty', 9],
  ['backwards', 0],
  ['unknown', 0],
  ['spelling', 0],
  ['accepted', 0],
])('an operation of the scenario %s ends with %i', async (scenario, exit) => {
  const workspace = videoWorkspace(nowhere)
  const { code, out } = await operate(workspace, `A boat sandbox:${scenario}`)
  expect([code, out, existsSync(join(workspace.cwd, 'x.mp4'))]).toEqual([
    exit,
    exit === 0 ? 'x.mp4\n' : '',
    exit === 0,
  ])
})

test.each([
  ['failure', 9, /video_generation_failed|could not be generated/],
  ['filtered', 9, /withheld[^]*hint: Change the prompt/],
  ['backwards', 0, /completed/],
  ['unknown', 0, /warning: .*unknown job state, "warming_up"/],
  ['spelling', 0, /completed/],
  ['accepted', 0, /completed/],
])('a remix of the scenario %s ends with %i', async (scenario, exit, says) => {
  const workspace = videoWorkspace(nowhere)
  const { code, out, err } = await remix(workspace, `Make it night sandbox:${scenario}`)
  expect([code, out]).toEqual([exit, exit === 0 ? 'y.mp4\n' : ''])
  expect(err).toMatch(says)
})

test('of several videos of which one is withheld the others are saved', async () => {
  const workspace = videoWorkspace(nowhere)
  const { code, out, err } = await operate(workspace, '--sample-count', '3', 'A boat sandbox:fewer')
  expect([code, out]).toEqual([12, 'x-1.mp4\nx-2.mp4\n'])
  expect(err).toContain('1 of 3 videos was withheld')
})

test('a result that has expired is said to be expired, and when', async () => {
  const { code, out, err } = await remix(videoWorkspace(nowhere), 'Make it night sandbox:expired')
  expect([code, out]).toEqual([4, ''])
  expect(err).toMatch(/The video has expired: it was available until 2026-01-01T/)
})

test('a job that never ends is left to itself after --timeout', async () => {
  const workspace = videoWorkspace(nowhere)
  const { code, err } = await remix(workspace, '--timeout', '60', 'Make it night sandbox:stuck')
  expect(code).toBe(11)
  expect(err).toContain('To go on waiting: modelgate video wait video_')
})

test('a job on record knows that it is in the sandbox; only a new one has to be told', async () => {
  const workspace = videoWorkspace(nowhere)
  const { out } = await workspace.run(['remix', '--sandbox', '--no-wait', 'video_sandbox_source', 'At night'])
  const id = out.trim()
  expect((await workspace.run(['status', id])).out).toContain(`id        ${id}`)
  const waited = await workspace.run(['wait', '--last', '-o', 'night.mp4'])
  expect([waited.code, waited.out]).toEqual([0, 'night.mp4\n'])
  const listed = JSON.parse((await workspace.run(['list', '--json'])).out) as { jobs: unknown[] }
  expect(listed.jobs).toMatchObject([{ id, is_sandbox: true, state: 'completed' }])
  const paid = await workspace.run(['remix', '-m', 'video-model-remix', '--no-wait', id, 'At dawn'])
  expect([paid.code, paid.err]).toEqual([2, expect.stringContaining('add --sandbox')])
})

test.each([
  [['list', '-o', 'x'], '--output does not apply to video list.'],
  [['list', '--raw', '--set', 'a=1'], '--set does not apply to video list.'],
  [['status', 'video_1', '-m', 'm'], '--model does not apply to video status.'],
  [['wait', 'video_1', '--body', '{}'], '--body does not apply to video wait.'],
])('%j is refused: what it says cannot be obeyed', async (words, message) => {
  const { code, err } = await videoWorkspace(nowhere).run(words)
  expect([code, err]).toEqual([2, expect.stringContaining(message)])
})
