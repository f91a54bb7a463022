import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { videoWorkspace, type VideoWorkspace } from './video-workspace.ts'

const start = (...words: readonly string[]) => ['generate', '-m', 'veo', ...words]

/** Makes the jobs of the sandbox ten seconds older, so that they have ended without a wait. */
function passTenSeconds({ home }: VideoWorkspace): void {
  const folder = join(home, '.local/state/modelgate/sandbox')
  for (const name of readdirSync(folder)) {
    const job = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { createdAt: number }
    writeFileSync(join(folder, name), JSON.stringify({ ...job, createdAt: job.createdAt - 10_000 }))
  }
}

test('jobs of the sandbox live from one command to the next', async () => {
  const workspace = videoWorkspace({ url: 'http://127.0.0.1:8080' })
  const { exit, stdout } = await workspace.run(
    start('--sandbox', '--no-wait', '--duration-seconds', '1', 'A boat'),
  )
  expect(exit).toBe(0)
  passTenSeconds(workspace)
  const waited = await workspace.run(['wait', '--sandbox', '-o', 'x.mp4', stdout.trim()])
  expect([waited.exit, waited.stdout]).toEqual([0, 'x.mp4\n'])
  const remix = await workspace.run(['remix', '--sandbox', '--last', '--no-wait', 'Make it night'])
  expect(remix.exit).toBe(0)
  passTenSeconds(workspace)
  const remixed = await workspace.run(['wait', '--sandbox', '-o', 'y.mp4', remix.stdout.trim()])
  expect([remixed.exit, remixed.stdout]).toEqual([0, 'y.mp4\n'])
  expect(await workspace.list()).toMatchObject([{ kind: 'video' }, { kind: 'operation', state: 'completed' }])
})
