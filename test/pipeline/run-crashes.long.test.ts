import { describe, expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
import { crashProject } from './crash-project.ts'
import { atPoints } from '../support/kill-points.ts'
import { amount } from '../support/sample.ts'

/** Every command once, one after the other, so that of no more than one it can be unknown what became of it. */
const everyCommand = (creates: number) => ({
  'modelgate.yaml': `
version: 1
budget: { creates: ${creates} }
jobs:
  caption: { respond: { model: m, input: A caption }, on_unknown: stop, out: caption.txt }
  slogan: { generate: { model: m, prompt: { file: "@caption" } }, on_unknown: stop, out: slogan.txt }
  hero: { image create: { model: gpt-image-2, prompt: { file: "@slogan" } }, out: pictures/hero.png }
  banner: { image edit: { model: gpt-image-2, prompt: Wider, image: "@hero" }, out: pictures/banner.png }
  teaser: { video generate: { model: veo-3.1, prompt: Awake, image: "@banner" }, out: teaser.mp4 }
  night: { video remix: { model: sora-2, prompt: At night, source: "@teaser" }, out: night.mp4 }
`,
})
const jobs = 6
const whole = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, true]))
const pictures = ['pictures/hero.png', 'pictures/banner.png']
const allOutputs = whole('caption.txt', 'slogan.txt', ...pictures, 'teaser.mp4', 'night.mp4')

/** Frames and clips of the elements of a text. */
const fanOut = {
  'modelgate.yaml': `
version: 1
budget: { creates: 5 }
jobs:
  scenes: { generate: { model: m, prompt: A storyboard, schema: scenes.json }, out: scenes.json.txt }
  frames:
    each: "@scenes"
    image create: { model: gpt-image-2, prompt: "\${title}" }
    out: frames/\${id}.png
  clips:
    each: "@scenes"
    video generate: { model: veo-3.1, prompt: "\${title}", image: "@frames[\${id}]" }
    out: clips/\${id}.mp4
`,
  // The one answer that matches it.
  'scenes.json': '{"const": [{"id": "dawn", "title": "At dawn"}, {"id": "noon", "title": "At noon"}]}',
}
const frames = ['frames/dawn.png', 'frames/noon.png']
const fanOutOutputs = whole('scenes.json.txt', ...frames, 'clips/dawn.mp4', 'clips/noon.mp4')

type Files = Readonly<Record<string, string>>

const countPoints = async (files: Files) =>
  (await crashProject(await runningSandbox(), files).runTo(0)).length

const good = { exit: 0, stderr: '', left: [] }

describe('a run of every command that is killed anywhere', () => {
  test.each<[string, Files, number, object]>([
    ['is finished by the next one, and creates nothing twice', everyCommand(jobs), 300, allOutputs],
    ['also before and after the elements of a fan-out are known', fanOut, 200, fanOutOutputs],
  ])(
    '%s',
    async (name, files, least, outputs) => {
      const count = await countPoints(files)
      expect(count).toBeGreaterThan(least)
      await atPoints(count, name, async (point) => {
        const sandbox = await runningSandbox()
        const project = crashProject(sandbox, files)
        const at = (await project.runTo(point)).at(-1)
        // The budget is that of the jobs: what was counted twice would end the run.
        const ended = project.accountOf(await project.start(['--yes']).ended)
        const account = { ...ended, created: sandbox.created() }
        const created = Object.keys(outputs).length
        expect.soft(account, `killed at ${at}`).toEqual({ ...good, created, outputs })
        await sandbox.close()
      })
    },
    3_600_000,
  )

  test('never asks again by itself for what may have been created, without idempotency keys', async () => {
    const files = everyCommand(jobs + 1)
    const count = await countPoints(files)
    let unknown = 0
    await atPoints(count, 'without keys', async (point) => {
      const sandbox = await runningSandbox()
      const project = crashProject(sandbox, files, { idempotencyHonoured: false })
      const at = (await project.runTo(point)).at(-1)
      const { exit, stderr } = await project.start(['--yes']).ended
      const instance = project.events('intent').at(-1)?.instance ?? ''
      const isUnknown = exit === 7 && stderr.includes(`modelgate run --regenerate ${instance}`)
      // Of what is unknown the gateway has created one more than there are results, or has not.
      const more = isUnknown ? sandbox.created() - project.events('result').length : 0
      if (isUnknown) {
        unknown++
        await project.finish(['--yes', '--regenerate', instance])
      }
      const account = {
        ...project.accountOf({ exit: isUnknown ? 0 : exit, stderr }),
        more: [0, 1].includes(more),
        created: sandbox.created() - more,
        repeats: sandbox.requests().filter(({ repeats }) => repeats).length,
      }
      const expected = { ...good, more: true, created: jobs, repeats: 0, outputs: allOutputs }
      expect.soft(account, `killed at ${at}`).toEqual(expected)
      await sandbox.close()
    })
    // Some points do not lie between a request and its result.
    expect(unknown).toBeGreaterThanOrEqual(amount(0, 1))
  }, 3_600_000)
})
