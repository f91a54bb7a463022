import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { crashProject, type CrashProject } from './crash-project.ts'
import { sample } from '../support/sample.ts'

const rows = Array.from({ length: 20 }, (_, at) => `    - { id: n${at}, name: boat ${at} }`).join('\n')
const jobs = 60
const files = {
  'modelgate.yaml': `
version: 1
jobs:
  photos:
    each:
${rows}
    image create: { model: gpt-image-2, prompt: "\${name}" }
    out: photos/\${id}.png
  captions:
    each:
${rows}
    respond: { model: some-text-model, input: "A caption of \${name}", attach: "@photos[\${id}]" }
    out: captions/\${id}.txt
  names:
    each:
${rows}
    generate: { model: gemini-3-flash, prompt: "A name for \${name}" }
    out: names/\${id}.txt
`,
}

/** The lock without what differs from run to run, and what a killed process may not have come to write. */
function lockOf(project: CrashProject): unknown {
  return JSON.parse(readFileSync(project.path('modelgate.lock'), 'utf8'), (name, value: unknown) =>
    ['origin', 'request_id', 'job_id', 'took_s', 'model', 'usage'].includes(name) ? undefined : value,
  )
}

const totals = sample([1, 2, 3, 4, 5, 6, 7, 8], { quick: 0, ci: 1 })

test.each(totals)(
  '%i shards, one of them killed, come to the lock and the files of one whole run',
  async (total) => {
    const [one, many] = [await runningSandbox(), await runningSandbox()]
    const whole = crashProject(one, files)
    // What is committed is the same for all.
    await whole.finish(['--yes', 'names[n1*]'])
    const clone = () => {
      const folder = temporaryFolder()
      for (const name of ['modelgate.yaml', 'modelgate.lock', 'names']) {
        cpSync(whole.path(name), join(folder, name), { recursive: true })
      }
      return crashProject(many, {}, { folder })
    }
    const main = clone()
    const committed = one.created()
    const clones = Array.from({ length: total }, clone)
    await whole.finish()

    const killedShard = Math.ceil(total / 2)
    const parts = clones.map(async (project, at) => {
      const words = ['--yes', '--shard', `${at + 1}/${total}`]
      if (at + 1 === killedShard) await project.runTo(120, words)
      await project.finish(words)
      expect(project.exists('photos')).toBe(false)
      return project.path(`.modelgate/parts/${at + 1}-of-${total}`)
    })
    await main.finish(['merge', ...(await Promise.all(parts))])

    expect([committed + many.created(), one.created()]).toEqual([jobs, jobs])
    expect(lockOf(main)).toEqual(lockOf(whole))
    const outputs = Object.values(main.outputs())
    expect([outputs.length, outputs.every(Boolean)]).toEqual([jobs, true])
    await main.finish(['--check'])
  },
  300_000,
)
