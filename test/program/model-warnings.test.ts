import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { canaryKey } from '../support/canary-key.ts'

/** Runs a call in November 2026. */
async function run(words: readonly string[], configuration?: string) {
  const cwd = temporaryFolder()
  if (configuration !== undefined) writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': configuration })
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey(), HOME: temporaryFolder() }
  return runMain(words, { cwd, env, clock: fakeClock({ start: Date.parse('2026-11-22T12:00:00Z') }) })
}

const image = ['image', 'create', '--quality', 'low', '-o', 'x.png', 'A dot', '-m']
const video = ['video', 'remix', '--no-wait', 'video_sandbox_source', 'At night', '-m']

test.each([
  [
    image,
    'gpt-image-1',
    'gpt-image-1 was retired by its vendor on 2026-10-23; your gateway may still serve it.',
  ],
  [image, 'gpt-image-1-mini', 'gpt-image-1-mini retires on 2026-12-01.'],
  [
    image,
    'gpt-imag-2',
    'The model "gpt-imag-2" is unknown here; did you mean gpt-image-2? It is sent unchanged.',
  ],
  [video, 'sora-2', 'sora-2 was retired by its vendor on 2026-09-24; your gateway may still serve it.'],
])('%s with %s warns, and is done', async (words, model, warning) => {
  const { code, err } = await run([...words, model])
  expect(code).toBe(0)
  expect(err.split('\n')).toContain(`warning: ${warning}`)
  expect((await run([...words, model, '--dry-run'])).err).toContain(`warning: ${warning}\n`)
  const { out } = await run([...words, model, '--json'])
  expect(JSON.parse(out)).toMatchObject({ model, warnings: [warning] })
})
