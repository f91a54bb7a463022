import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { localServer } from '../../support/local-server.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { runMain } from '../../support/run-main.ts'
import { json } from '../../support/server-replies.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { videoWorkspace } from '../videos/video-run.ts'

// The commands that go on with a background response, as standard error prints them.

const id = 'resp_0123456789abcdef'
const queued = { id, object: 'response', created_at: 1, model: 'm', status: 'queued', output: [] }
const content = [{ type: 'output_text', text: 'Hello.' }]
const completed = {
  ...queued,
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content }],
}
const workspaceWith = async (...replies: readonly object[]) =>
  videoWorkspace(await localServer(replies.map((reply) => json(reply))), [])

test('on a terminal, the command that goes on has an unambiguous beginning of the id', async () => {
  const workspace = await workspaceWith(queued, completed)
  const { err } = await workspace.run(['respond', '-m', 'm', '--background', 'Hi'], {
    stderr: memorySink({ isTerminal: true }),
  })
  expect(err).toContain('response started; resume with: modelgate wait resp_0123456\n')
  expect(await workspace.paste(err)).toMatchObject({ code: 0, out: 'Hello.\n' })
})

test('without a record, the command that goes on names the sandbox and the file', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  const overrides = {
    env: { MODELGATE_STATE_DIR: join(folder, 'file') },
    clock: { ...fakeClock(), ...systemClock },
  }
  const words = ['respond', '--sandbox', '--background', '-o', join(folder, 'a.txt'), 'Hello']
  const { code, out, err } = await runMain(words, overrides)
  expect([code, err]).toEqual([0, expect.stringContaining('not on record')])
  expect(err).toContain(`modelgate wait --sandbox -o ${join(folder, 'a.txt')} ${out}`)
})

test('the command that goes on with a wait writes to the same file', async () => {
  const workspace = await workspaceWith(queued, completed)
  const words = ['wait', id, '-o', 'a.txt', '--force', '--timeout', '1']
  const { code, err } = await workspace.run(words)
  expect(code).toBe(11)
  expect(await workspace.paste(err)).toMatchObject({ code: 0, out: '' })
  expect(workspace.read('a.txt').toString()).toBe('Hello.')
})

test('video status without --wait refuses -o, and sends nothing', async () => {
  const workspace = await workspaceWith()
  const { code, err } = await workspace.run(['video', 'status', id, '-o', 'a.txt'])
  expect([code, err]).toEqual([2, 'modelgate: -o needs --wait; without it only the state is printed.\n'])
})
