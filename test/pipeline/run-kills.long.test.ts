import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { crashProject, signalAfter, type CrashProject } from './crash-project.ts'
import { amount } from '../support/sample.ts'

const kills = amount(6, 300)

const pictures = 60
const videos = 4
/** A picture, an edit and a caption of it for each row, and some texts and videos besides. */
const jobs = 200
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `    - { id: n${at}, name: boat ${at} }`).join('\n')
const mixed = {
  'modelgate.yaml': `
version: 1
budget: { creates: ${jobs} }
jobs:
  photos:
    each:
${rowsOf(pictures)}
    image create: { model: gpt-image-2, prompt: "\${name}" }
    out: photos/\${id}.png
  scenes:
    each:
${rowsOf(pictures)}
    image edit: { model: gpt-image-2, prompt: "At night, \${name}", image: "@photos[\${id}]" }
    out: scenes/\${id}.png
  captions:
    each:
${rowsOf(pictures)}
    respond: { model: some-text-model, input: "A caption of \${name}", attach: "@scenes[\${id}]" }
    out: captions/\${id}.txt
  names:
    each:
${rowsOf(jobs - 3 * pictures - videos)}
    generate: { model: gemini-3-flash, prompt: "A name for \${name}" }
    out: names/\${id}.txt
  films:
    each:
${rowsOf(videos)}
    video generate: { model: veo-3.1, prompt: "\${name}", image: "@photos[\${id}]" }
    out: films/\${id}.mp4
`,
}

/** What there is in the end. */
function accountOf(project: CrashProject, created: number) {
  const outputs = Object.values(project.outputs())
  const whole = outputs.filter(Boolean).length
  return { created, outputs: outputs.length, whole, left: project.leftovers() }
}
const everything = { created: jobs, outputs: jobs, whole: jobs, left: [] }

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
      expect(accountOf(project, sandbox.created())).toEqual(everything)
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
      const isTwice = time % 2 === 1
      const ended = signalAfter(
        project,
        1 + Math.floor(random() * 30),
        signal,
        isTwice ? random() * 50 : null,
      )
      exits.push((await ended).exit)
    }
    // A second signal may end the process by itself.
    expect(exits.map((exit) => (exit === signal ? code : exit))).toEqual(exits.map(() => code))
    await project.finish()
    expect(accountOf(project, sandbox.created())).toEqual(everything)
  },
  600_000,
)
