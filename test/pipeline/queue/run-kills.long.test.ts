import { beforeEach, describe, expect, test } from 'vitest'
import { forTest, queueServers } from '../../support/queue-servers.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { sample } from '../../support/sample.ts'
import { crashProject } from '../crash-project.ts'
import { queueBench } from './queue-bench.ts'

/** Every command. @param name makes the requests others */
const manifestOf = (name: string) => `
version: 1
budget: { creates: 8 }
jobs:
  caption: { respond: { model: m, input: A caption ${name} }, out: caption.txt }
  slogan: { generate: { model: m, prompt: A slogan ${name}, attach: "@caption" }, out: slogan.txt }
  hero: { image create: { model: gpt-image-2, prompt: The harbour ${name} }, out: pictures/hero.png }
  banner: { image edit: { model: gpt-image-2, prompt: Wider ${name}, image: "@hero" }, out: banner.png }
  teaser: { video generate: { model: veo-3.1, prompt: Awake ${name}, image: "@banner" }, out: teaser.mp4 }
  night: { video remix: { model: sora-2, prompt: At night ${name}, source: "@teaser" }, out: night.mp4 }
  sails:
    image create: { model: gpt-image-2, prompt: "A sail, \${id} ${name}" }
    each: [{ id: one }, { id: two }]
    out: sails/\${id}.png
`
const jobs = 8

describe.each(queueServers)('on $name', ({ isThere, needs, start }) => {
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  test('a run that is killed anywhere is finished by the next one, and nothing made twice', async () => {
    const server = await forTest(start())
    const sandbox = await runningSandbox()
    const queue = await queueBench(server.url, sandbox.url)
    const worker = queue.work()
    const words = ['--yes', '--queue', server.url, '--store', queue.storeFolder]
    const points = await crashProject(sandbox, { 'modelgate.yaml': manifestOf('first') }).runTo(0, words)
    // All changes of the journal, and some other moments.
    const isWorthIt = (point: string, at: number) =>
      / (?:appendFile|datasync) .*\.jsonl$/.test(point) || at % 40 === 0
    const worthIt = points.flatMap((point, at) => (isWorthIt(point, at) ? [at + 1] : []))
    // Each job has an intent and a result in the journal, which are written, and then synced.
    expect(worthIt.length).toBeGreaterThan(jobs * 4)
    let created = sandbox.created()
    expect(created).toBe(jobs)
    for (const [at, point] of sample(worthIt, 4).entries()) {
      const project = crashProject(sandbox, { 'modelgate.yaml': manifestOf(String(at)) })
      const last = (await project.runTo(point, words)).at(-1)
      const { outputs, ...account } = project.accountOf(await project.start(words).ended)
      const made = sandbox.created() - created
      created += made
      expect({ ...account, made }, `killed at ${last}`).toEqual({ exit: 0, stderr: '', left: [], made: jobs })
      expect(Object.values(outputs)).toEqual(Array.from({ length: jobs }, () => true))
    }
    expect([await queue.open(), worker.warnings()]).toEqual([0, []])
  }, 3_600_000)
})
