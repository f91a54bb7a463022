import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jobGateway } from '../support/job-gateway.ts'
import { until } from '../support/running-sandbox.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { videoWorkspace, type VideoWorkspace } from './video-workspace.ts'

const clipOf = (job: number) => mp4Bytes({ duration: 1000 * (job + 1) }, Buffer.alloc(600_000, job))
const numbers = Array.from({ length: 8 }, (_, job) => job)
const start = (...words: readonly string[]) => ['generate', '-m', 'veo', ...words]

test('eight commands wait for eight jobs while a ninth lists them', async () => {
  const gateway = await jobGateway({ film: clipOf })
  const workspace = videoWorkspace(gateway)
  for (const job of numbers) await workspace.run(start('--no-wait', '-o', `x${job}.mp4`, `Boat ${job}`))
  const ids = (await workspace.list()).map(({ id }) => id!).toReversed()
  expect(ids).toEqual(numbers.map((job) => `models/veo/operations/op${job}`))

  let isOver = false
  const waiting = Promise.all(ids.map((id) => workspace.run(['wait', id]))).finally(() => (isOver = true))
  const listings: number[] = []
  while (!isOver) listings.push((await workspace.list()).length)
  const ended = await waiting
  expect(ended.map(({ exit, stdout }) => [exit, stdout])).toEqual(numbers.map((job) => [0, `x${job}.mp4\n`]))
  expect(listings.length).toBeGreaterThan(0)
  expect(new Set(listings)).toEqual(new Set([8]))
  expect(numbers.filter((job) => !workspace.read(`x${job}.mp4`).equals(clipOf(job)))).toEqual([])
  expect(workspace.parts()).toEqual([])
  const jobs = (await workspace.list()).toReversed()
  expect(jobs.map(({ state, files }) => [state, files])).toEqual(
    numbers.map((job) => ['completed', [join(workspace.cwd, `x${job}.mp4`)]]),
  )
  expect(gateway.created.length).toBe(8)
})

test('several commands that wait for the same job all end well, and its record is whole', async () => {
  const gateway = await jobGateway({ film: clipOf })
  const workspace = videoWorkspace(gateway)
  await workspace.run(start('--no-wait', '-o', 'x.mp4', 'A boat'))
  const ended = await Promise.all([1, 2, 3].map(() => workspace.run(['wait', '--last'])))
  expect(ended.map(({ exit }) => exit)).toEqual([0, 0, 0])
  expect(workspace.files()).toContain('x.mp4')
  expect(workspace.files().filter((name) => !workspace.read(name).equals(clipOf(0)))).toEqual([])
  const jobs = await workspace.list()
  expect(jobs.map(({ state }) => state)).toEqual(['completed'])
  const saved = jobs[0]!.files.filter((path) => workspace.has(path.slice(workspace.cwd.length + 1)))
  expect(saved.length).toBe(workspace.files().length)
})

/** The command that a stopped program has told, as words. */
function resumeIn(stderr: string): string[] {
  const [, words = ''] = /(?:again|waiting): \S+ video (wait [^\n]*)\n/.exec(stderr) ?? []
  return words.split(' ')
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s while waiting tells the command that goes on',
  async (signal) => {
    const gateway = await jobGateway({ film: clipOf, stopAt: 'second-look-up' })
    const workspace = videoWorkspace(gateway)
    const program = workspace.start(start('--wait', '-o', 'x.mp4', 'A boat'))
    await until(() => gateway.seen.includes('second-look-up'))
    program.process.kill(signal)
    const ended = await program.ended
    expect([ended.exit, ended.stdout.length, workspace.files(), workspace.parts()]).toEqual([
      signal,
      0,
      [],
      [],
    ])
    expect(await workspace.list()).toMatchObject([{ id: 'models/veo/operations/op0', files: [] }])
    expect(await workspace.run(resumeIn(ended.stderr))).toMatchObject({ exit: 0, stdout: 'x.mp4\n' })
    expect(gateway.created.length).toBe(1)
  },
)

test.each(['video-asked', 'video-begun', 'video-half'] as const)(
  'SIGINT at %s leaves nothing half',
  async (moment) => {
    const gateway = await jobGateway({ film: clipOf, stopAt: moment })
    const workspace = videoWorkspace(gateway)
    const program = workspace.start(start('--wait', '-o', 'x.mp4', 'A boat'))
    await until(() => gateway.seen.includes(moment))
    program.process.kill('SIGINT')
    const ended = await program.ended
    expect([ended.exit, ended.stdout.length, workspace.files(), workspace.parts()]).toEqual([
      'SIGINT',
      0,
      [],
      [],
    ])
    expect(ended.stderr).toContain('The request was billed.')
    expect(await workspace.list()).toMatchObject([{ state: 'completed', files: [] }])
    expect(await workspace.run(resumeIn(ended.stderr))).toMatchObject({ exit: 0, stdout: 'x.mp4\n' })
    expect(workspace.read('x.mp4').equals(clipOf(0))).toBe(true)
  },
)

/** Makes the jobs of the sandbox ten seconds older, so that they have ended without a wait. */
function passTenSeconds({ home }: VideoWorkspace): void {
  const folder = join(home, '.local/state/modelgate/sandbox')
  for (const name of readdirSync(folder)) {
    const job = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { createdAt: number }
    writeFileSync(join(folder, name), JSON.stringify({ ...job, createdAt: job.createdAt - 10_000 }))
  }
}

test('jobs of the sandbox live from one command to the next', async () => {
  const workspace = videoWorkspace({ url: 'http://127.0.0.1:8080' })
  const { exit, stdout } = await workspace.run(
    start('--sandbox', '--no-wait', '--duration-seconds', '1', 'A boat'),
  )
  expect(exit).toBe(0)
  passTenSeconds(workspace)
  const waited = await workspace.run(['wait', '--sandbox', '-o', 'x.mp4', stdout.trim()])
  expect([waited.exit, waited.stdout]).toEqual([0, 'x.mp4\n'])
  const remix = await workspace.run(['remix', '--sandbox', '--last', '--no-wait', 'Make it night'])
  expect(remix.exit).toBe(0)
  passTenSeconds(workspace)
  const remixed = await workspace.run(['wait', '--sandbox', '-o', 'y.mp4', remix.stdout.trim()])
  expect([remixed.exit, remixed.stdout]).toEqual([0, 'y.mp4\n'])
  expect(await workspace.list()).toMatchObject([{ kind: 'video' }, { kind: 'operation', state: 'completed' }])
})
