import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { workspaceAt } from './workspace.ts'

const image = ['image', 'create', '--quality', 'low', 'A dot', '-m']
const video = ['video', 'remix', '--no-wait', 'video_sandbox_source', 'At night', '-m']

test.each([
  [image, 'gpt-image-1-mini', 'gpt-image-1-mini retires on 2026-12-01.'],
  [video, 'sora-2', 'sora-2 was retired by its vendor on 2026-09-24; your gateway may still serve it.'],
])('%s with %s warns, and is done', async (words, model, warning) => {
  const { run } = workspaceAt(await runningSandbox())
  const clock = fakeClock({ start: Date.parse('2026-11-22T12:00:00Z') })
  const { code, out, err } = await run([...words, model, '--json'], { clock })
  expect([code, JSON.parse(out)]).toMatchObject([0, { model, warnings: [warning] }])
  expect(err).toContain(`warning: ${warning}\n`)
  expect((await run([...words, model, '--dry-run'], { clock })).err).toContain(`warning: ${warning}\n`)
})

test('the document names the model that the gateway chose, where the call names none', async () => {
  const { run } = workspaceAt(await runningSandbox())
  const lines = (await run(['respond', '--jsonl', 'hi'])).out.trimEnd().split('\n')
  expect(JSON.parse(lines[0]!)).toMatchObject({ type: 'start', model: null })
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'end', model: 'sandbox-text' })
})
