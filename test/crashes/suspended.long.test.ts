import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { spawnProgram, type Ended, type Spawned } from '../black-box/spawn-program.ts'
import { videoWorkspace } from '../black-box/video-workspace.ts'
import { crashProject } from '../pipeline/crash-project.ts'
import { textStyles } from '../program/text-styles.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { jobGateway, type Moment } from '../support/job-gateway.ts'
import { localServer } from '../support/local-server.ts'
import { forTest, hasRedis, startRedis } from '../support/queue-servers.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import * as reply from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { paddedPng } from '../support/test-images.ts'
import { until } from '../support/until.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { endOf } from './machine.ts'
import { heldReply, restOfStream } from './held-reply.ts'

/*
 * Faults F19 and G12: a process that is stopped (Ctrl-Z, a laptop that is closed) and goes on later. How long it was
 * stopped is real time here, since its own clock goes on: longer than the limits that it is given.
 */

/** A reply that holds these images. */
const resultOf = (...images: readonly Uint8Array[]) => ({
  created: 1,
  data: images.map((image) => ({ b64_json: Buffer.from(image).toString('base64') })),
})

const limits = {
  MODELGATE_IDLE_TIMEOUT: '2',
  MODELGATE_FIRST_BYTE_TIMEOUT: '2',
  MODELGATE_PROGRESS_TIMEOUT: '2',
}
const stoppedMs = 2500

/** Stops a process, lets something happen meanwhile, and lets it go on when its limits have passed. */
async function suspend({ process, ended }: Spawned, meanwhile = (): unknown => undefined): Promise<Ended> {
  process.kill('SIGSTOP')
  await Promise.all([meanwhile(), setTimeout(stoppedMs)])
  process.kill('SIGCONT')
  return await ended
}

const { delta, end } = textStyles.generate
const generate = (url: string) => ['generate', '-m', 'some-model', '--base-url', url, '-q', 'Hi']

/** A stream that stops after its first words, until it is told to go on as given. */
async function stoppedStream(rest: readonly reply.Step[]) {
  const { promise: isStopped, resolve: goOn } = Promise.withResolvers<void>()
  const server = await localServer([heldReply(isStopped, rest)])
  const program = spawnProgram(generate(server.url), { env: limits })
  await until(() => program.stdout.length > 0)
  const { exit, stdout, stderr } = await suspend(program, async () => {
    goOn()
    await until(() => server.played === 1)
  })
  return { exit, stdout: stdout.toString(), stderr }
}

describe.skipIf(process.platform === 'win32')('suspended for longer than its limits (needs signals)', () => {
  test('a stream: what has come meanwhile is read', async () => {
    expect(await stoppedStream(restOfStream)).toEqual({ exit: 0, stdout: 'Hello, you.\n', stderr: '' })
  })

  test.each([
    ['closed', reply.end],
    ['reset', reply.reset],
  ])(
    'a stream that was %s meanwhile: what has come is printed, and the rest is missing',
    async (_, ending) => {
      const { exit, stdout } = await stoppedStream([ending])
      expect([exit, stdout]).toEqual([7, 'Hello, \n'])
    },
  )

  test('a stream in which nothing came meanwhile: its time is over', async () => {
    const { exit, stdout, stderr } = await stoppedStream([])
    expect([exit, stdout]).toEqual([7, 'Hello, \n'])
    expect(stderr).toContain('2 s')
  })

  test('an upload goes on', async () => {
    const { promise: isStopped, resolve: goOn } = Promise.withResolvers<void>()
    const small = pngBytes({ width: 2 })
    const [, ...answer] = reply.json(resultOf(small))
    const server = await localServer([
      [reply.readHead, reply.deaf, reply.hold(isStopped), reply.hear, reply.readAll, ...answer],
    ])
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'in.png'), paddedPng(pngBytes(), 12_000_000))
    const words = `image edit -m m --base-url ${server.url} --image in.png -o out.png x`.split(' ')
    const program = spawnProgram(words, { cwd, env: limits })
    await until(() => server.requests[0]?.line !== undefined && server.requests[0].line !== '')
    // Takes what is on its way, which may be nothing, while the program stands still.
    await endOf({ ended: suspend(program, goOn) })
    expect(server.requests).toHaveLength(1)
  })

  const clip = mp4Bytes({ width: 1280, height: 720 }, Buffer.alloc(3_000_000, 7))
  test.each<Moment>(['post-received', 'first-look-up', 'completion-told', 'video-begun', 'video-half'])(
    'a video job, at %s: it is started once, and finished',
    async (moment) => {
      const gateway = await jobGateway({ film: () => clip })
      const workspace = videoWorkspace(gateway)
      const program = workspace.start(['generate', '-m', 'veo', '--wait', '-o', 'x.mp4', 'A boat'], limits)
      await until(() => gateway.seen.includes(moment))
      await endOf({ ended: suspend(program) })
      expect(gateway.created).toHaveLength(1)
      expect(workspace.read('x.mp4').equals(clip)).toBe(true)
    },
  )

  test('a wait before a retry: it is sent once more, and no more', async () => {
    const busy = reply.text('{}', { status: 429, headers: { 'retry-after': '1' } })
    const server = await localServer([busy, reply.sse([delta('Hello.'), end])])
    const program = spawnProgram(generate(server.url), { env: limits })
    await until(() => server.played === 1)
    expect((await endOf({ ended: suspend(program) })).stdout.toString()).toBe('Hello.\n')
  })

  const manifest = {
    'modelgate.yaml': `version: 1
jobs:
  note: { respond: { model: some-text-model, input: A note }, out: note.txt }
  hero: { image create: { model: gpt-image-2, prompt: A boat }, out: hero.png }
  film: { video generate: { model: veo-3.1, prompt: Waves }, out: film.mp4 }
`,
  }
  const outputs = { 'note.txt': true, 'hero.png': true, 'film.mp4': true }

  test('a run: it goes on, and creates nothing twice', async () => {
    const sandbox = await runningSandbox({ latency: 100 })
    const project = crashProject(sandbox, manifest)
    const program = project.start(['--yes'])
    await until(() => project.events('intent').length === 3, project.runs)
    await endOf({ ended: suspend(program) })
    expect([sandbox.created(), project.outputs()]).toEqual([3, outputs])
  })

  test.skipIf(!hasRedis)('a worker: it goes on, and creates nothing twice (needs redis-server)', async () => {
    const server = await forTest(startRedis())
    const sandbox = await runningSandbox({ latency: 100 })
    const project = crashProject(sandbox, manifest)
    const places = ['--queue', server.url, '--store', temporaryFolder()]
    await project.finish(['--yes', '--detach', ...places], 11)
    const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_POLL_INTERVAL: '0.1' }
    const worker = spawnProgram(['run', 'worker', '--until-empty', ...places], { env })
    await until(() => sandbox.requests().length > 0)
    await endOf({ ended: suspend(worker) })
    await project.finish(['--yes', ...places])
    expect([sandbox.created(), project.outputs()]).toEqual([3, outputs])
  })
})
