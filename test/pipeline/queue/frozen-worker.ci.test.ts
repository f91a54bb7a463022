import { fork } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { runBench } from '../run/run-bench.ts'
import { queueBench } from './queue-bench.ts'

const manifests = {
  text: '{ respond: { model: text-a, input: Name a boat }, on_unknown: stop, out: out.txt }',
  edit: '{ image edit: { model: image-a, prompt: At night, image: in.png }, out: out.png }',
  video: '{ video generate: { model: veo-3.1, prompt: A harbour }, out: out.mp4 }',
} as const
type Kind = keyof typeof manifests

interface Frozen {
  readonly step: string
  /** How the run ended that waited meanwhile, and the next one. */
  readonly exits: readonly string[]
  readonly created: number
}

/**
 * Stops a worker with SIGSTOP before its `at`th step, until another one has found its lock to be over and the run has ended;
 * then it goes on, and the next run takes what there is.
 * @returns undefined where it had fewer steps
 */
async function freezeAt(url: string, kind: Kind, at: number): Promise<Frozen | undefined> {
  const manifest = `version: 1\njobs:\n  it: ${manifests[kind]}\n`
  const bench = await runBench({ 'modelgate.yaml': manifest })
  writeFiles(bench.folder, { 'in.png': pngBytes({ width: 64, height: 64 }) })
  const queue = await queueBench(url, bench.sandbox.url)
  const args = [url, bench.sandbox.url, queue.storeFolder, temporaryFolder(), `${at}`]
  const child = fork(join(import.meta.dirname, 'frozen-worker-child.ts'), args)
  onTestFinished(() => void child.kill('SIGKILL'))
  const begun = Promise.withResolvers<void>()
  const frozen = Promise.withResolvers<string>()
  child.once('exit', (code) => begun.reject(new Error(`The worker ended with ${code}.`)))
  let over = Promise.withResolvers<void>()
  child.on('message', (message: 'begun' | 'over' | { readonly frozen: string }) => {
    if (message === 'begun') begun.resolve()
    else if (message === 'over') over.resolve()
    else frozen.resolve(message.frozen)
  })
  await begun.promise
  const running = bench.run({}, { queue: queue.call })
  const step = await Promise.race([frozen.promise, running.then(() => undefined)])
  if (step === undefined) return void child.kill('SIGKILL')
  over = Promise.withResolvers()
  const other = queue.work({}, { machine: temporaryFolder() })
  const first = await running
  child.kill('SIGCONT')
  await over.promise
  const next = await bench.run({}, { queue: queue.call })
  await other.stop()
  child.kill('SIGKILL')
  return { step, exits: [first.exit, next.exit], created: bench.sandbox.created() }
}

describe.each(queueServers)('on $name', ({ isThere, needs, start }) => {
  let server: QueueServer
  beforeAll(async () => {
    if (isThere) server = await start()
  })
  afterAll(() => server?.remove())
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  test.each(Object.keys(manifests) as Kind[])(
    'a worker that stands still at any step of a %s, and goes on, has it created once',
    async (kind) => {
      const found: Frozen[] = []
      for (let at = 1; ; at += 4) {
        const some = await Promise.all([0, 1, 2, 3].map((more) => freezeAt(server.url, kind, at + more)))
        found.push(...some.filter((one) => one !== undefined))
        if (some.includes(undefined)) break
      }
      expect(found.length).toBeGreaterThan(6)
      expect(found.filter(({ exits, created }) => exits[1] !== 'ok' || created !== 1)).toEqual([])
    },
  )
})
