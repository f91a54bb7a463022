import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnProgram } from '../black-box/spawn-program.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const jobs = 200
const rows = Array.from({ length: jobs }, (_, index) => `    - { id: n${index} }`).join('\n')
const manifest = `
version: 1
jobs:
  captions:
    each:
${rows}
    respond: { model: some-text-model, input: "A caption of \${id}" }
    out: captions/\${id}.txt
`

test('a gateway that refuses three of ten requests is asked at most 1.6 times for each job', async () => {
  const refuses = {
    action: 'status',
    status: 429,
    probability: 0.3,
    headers: { 'retry-after': '0.2' },
  } as const
  const sandbox = await runningSandbox({ faults: [{ endpoint: 'responses', ...refuses }] })
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'modelgate.yaml': manifest })
  const env = { MODELGATE_BASE_URL: sandbox.url }
  const { exit, stderr } = await spawnProgram(['run', '--yes'], { cwd, env }).ended
  expect([exit, exit === 0 ? '' : stderr]).toEqual([0, ''])
  expect(sandbox.created()).toBe(jobs)
  expect(sandbox.firedFaults().length).toBeGreaterThan(40)
  expect(sandbox.requests().length).toBeLessThanOrEqual(1.6 * jobs)
  // Killed while it waits, the run must not be in doubt about what was refused.
  const runs = join(cwd, '.modelgate/runs')
  const text = readdirSync(runs)
    .map((name) => readFileSync(join(runs, name), 'utf8'))
    .join('')
  expect(text.split('{"type":"release"').length - 1).toBe(sandbox.firedFaults().length)
  const lock = JSON.parse(readFileSync(join(cwd, 'modelgate.lock'), 'utf8')) as object
  expect(Object.keys(lock).filter((id) => id.startsWith('captions['))).toHaveLength(jobs)
}, 300_000)
