import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { openReceiver } from '../../src/pipeline/queue/bullmq-delivery.ts'
import { queues } from '../../src/pipeline/queue/delivery.ts'
import { openDocuments } from '../../src/pipeline/queue/open-documents.ts'
import { readQueueUrl } from '../../src/pipeline/queue/queue-url.ts'
import { openFolderStore } from '../../src/pipeline/store/folder-store.ts'
import { forTest, queueServers } from '../support/queue-servers.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { crashProject } from './crash-project.ts'
import { taskHandler } from './run/task-handler.ts'
import { sample } from '../support/sample.ts'

/** Every command. @param name makes the requests others */
const manifestOf = (name: string) => `
version: 1
budget: { creates: 8 }
jobs:
  caption:
    respond: { model: some-text-model, input: A caption ${name} }
    out: caption.txt
  slogan:
    generate: { model: gemini-3-flash, prompt: A slogan ${name}, attach: "@caption" }
    out: slogan.txt
  hero:
    image create: { model: gpt-image-2, prompt: The harbour ${name} }
    out: pictures/hero.png
  banner:
    image edit: { model: gpt-image-2, prompt: Wider ${name}, image: "@hero" }
    out: pictures/banner.png
  teaser:
    video generate: { model: veo-3.1, prompt: The harbour wakes up ${name}, image: "@banner" }
    out: teaser.mp4
  night:
    video remix: { model: sora-2, prompt: The same at night ${name}, source: "@teaser" }
    out: night.mp4
  sails:
    image create: { model: gpt-image-2, prompt: "A sail, \${id} ${name}" }
    each: [{ id: one }, { id: two }]
    out: sails/\${id}.png
`
const jobs = 8

describe.each(queueServers)('$name (needs $needs)', ({ isThere, start }) => {
  test.skipIf(!isThere)(
    'a run that is killed anywhere is finished by the next one, and nothing made twice',
    async () => {
      const server = await forTest(start())
      const url = readQueueUrl(server.url)
      const sandbox = await runningSandbox()
      const folder = temporaryFolder()
      const store = await openFolderStore(testContext({ cwd: folder }), folder)
      const documents = await openDocuments(url, 'modelgate', systemClock)
      const handle = taskHandler({ documents, store, url: sandbox.url })
      const errors: unknown[] = []
      const receivers = await Promise.all(
        queues.map((name) =>
          openReceiver(url, 'modelgate', systemClock, name, 4, handle, (error) => errors.push(error)),
        ),
      )
      const words = ['--yes', '--queue', server.url, '--store', folder]
      try {
        const points = await crashProject(sandbox, { 'modelgate.yaml': manifestOf('first') }).runTo(0, words)
        const worthIt = points.flatMap((point, at) => (isWorthIt(point, at) ? [at + 1] : []))
        // Each job has an intent and a result in the journal, which are written, and then synced.
        expect(worthIt.length).toBeGreaterThan(jobs * 4)
        const chosen = sample(worthIt, { quick: 0, ci: 4 })
        let created = sandbox.created()
        expect(created).toBe(jobs)
        for (const [at, point] of chosen.entries()) {
          // Other requests each time: what the queue has made before would be taken.
          const files = {
            'modelgate.yaml': manifestOf(String(at)),
          }
          const project = crashProject(sandbox, files)
          const last = (await project.runTo(point, words)).at(-1)
          const { exit, stderr } = await project.start(words).ended
          const made = sandbox.created() - created
          created += made
          const outputs = Object.values(project.outputs())
          expect({
            last,
            exit,
            stderr: exit === 0 ? '' : stderr,
            made,
            outputs,
            left: project.leftovers(),
          }).toEqual({
            last,
            exit: 0,
            stderr: '',
            made: jobs,
            outputs: Array.from({ length: jobs }, () => true),
            left: [],
          })
        }
        expect(errors).toEqual([])
      } finally {
        await Promise.all(receivers.map((receiver) => receiver.stop()))
        await documents.close()
      }
    },
    3_600_000,
  )
})

/** All changes of the journal, and some other moments. */
function isWorthIt(point: string, at: number): boolean {
  return / (?:appendFile|datasync) .*\.jsonl$/.test(point) || at % 40 === 0
}
