import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { quick, quickUrl, workspaceAt } from './image-run.ts'

const stream = [...quick, '--stream', '--partial-images', '2']
// What else a gateway may do wrong is tried at image calls, too, by the fault rows (test/faults).

test('an image that is sent twice is saved twice, with a word', async () => {
  const sandbox = await runningSandbox({ faults: [{ action: 'duplicate-terminal' }] })
  const workspace = workspaceAt(sandbox)
  const { code, err } = await workspace.run(['create', ...stream, '-o', 'x.png', 'A kite'])
  expect([code, workspace.files(), sandbox.created()]).toEqual([0, ['x-2.png', 'x.png'], 1])
  expect(err).toContain('2 images received, 1 requested.')
})

test('a download that is cut by the sandbox begins again, and nothing is made twice', async () => {
  const faults = [{ action: 'reset', at: 1000, endpoint: 'image-files', times: 2 }] as const
  const sandbox = await runningSandbox({ faults })
  const workspace = workspaceAt(sandbox)
  const { code, waits } = await workspace.runThroughWaits(['create', ...quickUrl, '-o', 'x.png', 'A kite'])
  expect([code, waits.length, sandbox.created()]).toEqual([0, 2, 1])
  expect(sandbox.requests().map(({ method, status }) => `${method} ${status}`)).toEqual([
    'POST 200',
    'GET 200',
    'GET 200',
    'GET 200',
  ])
  expect((await workspace.pixels('x.png')).width).toBe(256)
})
