import { expect, test } from 'vitest'
import { runningSandbox, until } from '../support/running-sandbox.ts'
import { crashProject } from './crash-project.ts'
import { amount } from '../support/sample.ts'

const manifest = {
  'modelgate.yaml': `version: 1
jobs:
  a: { image create: { model: gpt-image-2, prompt: One }, out: a.png }
  b: { image create: { model: gpt-image-2, prompt: Two }, out: b.png }
`,
}

/** How often two processes race. */
const races = amount({ quick: 0, ci: 2, full: 12 })

test('of two processes that start at once, one runs the manifest, and the other names it', async () => {
  for (let race = 1; race <= races; race++) {
    const sandbox = await runningSandbox({ latency: 500 })
    const project = crashProject(sandbox, manifest)
    const programs = [project.start(['--yes']), project.start(['--yes'])]
    const ended = await Promise.all(programs.map((program) => program.ended))
    const winner = ended.findIndex(({ exit }) => exit === 0)
    const loser = ended[1 - winner]
    const owner = programs[winner]?.process.pid
    expect([winner === -1, loser?.exit], `race ${race}`).toEqual([false, 2])
    expect(loser?.stderr).toContain(`is already being run by process ${owner} on this machine.`)
    expect([sandbox.created(), project.outputs()]).toEqual([2, { 'a.png': true, 'b.png': true }])
    await sandbox.close()
  }
}, 600_000)

test('an owner that is stopped for longer than its heartbeats is not taken over on its machine', async () => {
  const stalled = { endpoint: 'image-generations', action: 'stall', at: 'before-headers', ms: 1500 } as const
  const sandbox = await runningSandbox({ faults: [stalled] })
  const project = crashProject(sandbox, manifest)
  const first = project.start(['--yes'])
  await until(() => project.events('intent').length === 2, project.runs)
  first.process.kill('SIGSTOP')
  project.ageOwner(120)
  const { stderr } = await project.finish(['--yes'], 2)
  expect(stderr).toContain(`is already being run by process ${first.process.pid} on this machine.`)
  first.process.kill('SIGCONT')
  expect((await first.ended).exit).toBe(0)
  expect([sandbox.created(), project.outputs()]).toEqual([2, { 'a.png': true, 'b.png': true }])
})
