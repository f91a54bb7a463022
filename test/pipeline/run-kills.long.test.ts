import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { runningSandbox, until } from '../support/running-sandbox.ts'
import { amount } from '../support/sample.ts'
import { crashProject, type CrashProject } from './crash-project.ts'
import { loadFiles } from './queue/load-project.ts'

const kills = amount(6, 300)

const jobs = 200
const mixed = loadFiles({ jobs, concurrency: 8 })

function accountOf(project: CrashProject, { created }: Sandbox) {
  const outputs = Object.values(project.outputs())
  return [created(), outputs.length, outputs.filter(Boolean).length, project.leftovers()]
}
const everything = [jobs, jobs, jobs, []]

test(`${kills} kills at any time leave a run of two hundred jobs with two hundred creations`, async () => {
  const random = seededRandom(20_261_122)
  let killed = 0
  const killAgainAndAgain = async () => {
    while (killed < kills) {
      const sandbox = await runningSandbox()
      const project = crashProject(sandbox, mixed)
      for (let hasEnded = false; !hasEnded && killed < kills;) {
        const program = project.start(['--yes'])
        const stop = new AbortController()
        const wait = setTimeout(150 + random() * 900, undefined, { signal: stop.signal }).catch(() => {})
        await Promise.race([wait, program.ended])
        stop.abort()
        program.process.kill('SIGKILL')
        hasEnded = (await program.ended).exit !== 'SIGKILL'
        if (!hasEnded) killed++
      }
      await project.finish()
      expect(accountOf(project, sandbox)).toEqual(everything)
      await sandbox.close()
    }
  }
  await Promise.all([killAgainAndAgain(), killAgainAndAgain()])
}, 3_600_000)

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s ends a run in good order, twice at once, and the next run completes it',
  async (signal, code) => {
    const random = seededRandom(code)
    const sandbox = await runningSandbox({ latency: 20 })
    const project = crashProject(sandbox, mixed)
    const exits: unknown[] = []
    for (let time = 0; time < 6; time++) {
      // When so many more events are on disk.
      const lines = project.lines() + 1 + Math.floor(random() * 30)
      const program = project.start(['--yes'])
      let hasEnded = false
      void program.ended.then(() => (hasEnded = true))
      await until(() => hasEnded || project.lines() >= lines, project.runs)
      program.process.kill(signal)
      if (time % 2 === 1) {
        await setTimeout(random() * 50)
        program.process.kill(signal)
      }
      exits.push((await program.ended).exit)
    }
    // A second signal may end the process by itself.
    expect(exits.map((exit) => (exit === signal ? code : exit))).toEqual(exits.map(() => code))
    await project.finish()
    expect(accountOf(project, sandbox)).toEqual(everything)
  },
  600_000,
)
