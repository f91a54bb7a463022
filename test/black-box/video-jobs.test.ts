import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jobGateway } from '../support/job-gateway.ts'
import { until } from '../support/running-sandbox.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { videoStudio, type VideoStudio } from './video-studio.ts'

const clipOf = (job: number) => mp4Bytes({ duration: 1000 * (job + 1) }, Buffer.alloc(600_000, job))
const numbers = Array.from({ length: 8 }, (_, job) => job)
const start = (...words: readonly string[]) => ['generate', '-m', 'veo', ...words]

test('eight commands wait for eight jobs while a ninth lists them', async () => {
  const gateway = await jobGateway({ film: clipOf })
  const studio = videoStudio(gateway)
  for (const job of numbers) await studio.run(start('--no-wait', '-o', `x${job}.mp4`, `Boat ${job}`))
  const ids = (await studio.list()).map(({ id }) => id!).toReversed()
  expect(ids).toEqual(numbers.map((job) => `models/veo/operations/op${job}`))

  let isOver = false
  const waiting = Promise.all(ids.map((id) => studio.run(['wait', id]))).finally(() => (isOver = true))
  const listings: number[] = []
  while (!isOver) listings.push((await studio.list()).length)
  const ended = await waiting
  expect(ended.map(({ exit, stdout }) => [exit, stdout])).toEqual(numbers.map((job) => [0, `x${job}.mp4\n`]))
  expect(listings.length).toBeGreaterThan(0)
  expect(new Set(listings)).toEqual(new Set([8]))
  expect(numbers.filter((job) => !studio.read(`x${job}.mp4`).equals(clipOf(job)))).toEqual([])
  expect(studio.parts()).toEqual([])
  const jobs = (await studio.list()).toReversed()
  expect(jobs.map(({ state, files }) => [state, files])).toEqual(
    numbers.map((job) => ['completed', [join(studio.cwd, `x${job}.mp4`)]]),
  )
  expect(gateway.created.length).toBe(8)
}, 120_000)

test('several commands that wait for the same job all end well, and its record is whole', async () => {
  const gateway = await jobGateway({ film: clipOf })
  const studio = videoStudio(gateway)
  await studio.run(start('--no-wait', '-o', 'x.mp4', 'A boat'))
  const ended = await Promise.all([1, 2, 3].map(() => studio.run(['wait', '--last'])))
  expect(ended.map(({ exit }) => exit)).toEqual([0, 0, 0])
  expect(studio.files()).toContain('x.mp4')
  expect(studio.files().filter((name) => !studio.read(name).equals(clipOf(0)))).toEqual([])
  const jobs = await studio.list()
  expect(jobs.map(({ state }) => state)).toEqual(['completed'])
  const saved = jobs[0]!.files.filter((path) => studio.has(path.slice(studio.cwd.length + 1)))
  expect(saved.length).toBe(studio.files().length)
})

/** The command that a stopped program has told, as words. */
function resumeIn(stderr: string): string[] {
  const [, words = ''] = /again: \S+ video (wait [^\n]*)\n/.exec(stderr) ?? []
  return words.split(' ')
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s while waiting tells the command that goes on',
  async (signal) => {
    const gateway = await jobGateway({ film: clipOf, stopAt: 'second-look-up' })
    const studio = videoStudio(gateway)
    const program = studio.start(start('--wait', '-o', 'x.mp4', 'A boat'))
    await until(() => gateway.seen.includes('second-look-up'))
    program.process.kill(signal)
    const ended = await program.ended
    expect([ended.exit, ended.stdout.length, studio.files(), studio.parts()]).toEqual([signal, 0, [], []])
    expect(await studio.list()).toMatchObject([{ id: 'models/veo/operations/op0', files: [] }])
    expect(await studio.run(resumeIn(ended.stderr))).toMatchObject({ exit: 0, stdout: 'x.mp4\n' })
    expect(gateway.created.length).toBe(1)
  },
)

test.each(['video-asked', 'video-begun', 'video-half'] as const)(
  'SIGINT at %s leaves nothing half',
  async (moment) => {
    const gateway = await jobGateway({ film: clipOf, stopAt: moment })
    const studio = videoStudio(gateway)
    const program = studio.start(start('--wait', '-o', 'x.mp4', 'A boat'))
    await until(() => gateway.seen.includes(moment))
    program.process.kill('SIGINT')
    const ended = await program.ended
    expect([ended.exit, ended.stdout.length, studio.files(), studio.parts()]).toEqual(['SIGINT', 0, [], []])
    expect(ended.stderr).toContain('The request was billed.')
    expect(await studio.list()).toMatchObject([{ state: 'completed', files: [] }])
    expect(await studio.run(resumeIn(ended.stderr))).toMatchObject({ exit: 0, stdout: 'x.mp4\n' })
    expect(studio.read('x.mp4').equals(clipOf(0))).toBe(true)
  },
)

/** Makes the jobs of the sandbox ten seconds older, so that they have ended without a wait. */
function passTenSeconds({ home }: VideoStudio): void {
  const folder = join(home, '.local/state/modelgate/sandbox')
  for (const name of readdirSync(folder)) {
    const job = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { createdAt: number }
    writeFileSync(join(folder, name), JSON.stringify({ ...job, createdAt: job.createdAt - 10_000 }))
  }
}

test('jobs of the sandbox live from one command to the next', async () => {
  const studio = videoStudio({ url: 'http://127.0.0.1:8080' })
  const { exit, stdout } = await studio.run(
    start('--sandbox', '--no-wait', '--duration-seconds', '1', 'A boat'),
  )
  expect(exit).toBe(0)
  passTenSeconds(studio)
  const waited = await studio.run(['wait', '--sandbox', '-o', 'x.mp4', stdout.trim()])
  expect([waited.exit, waited.stdout]).toEqual([0, 'x.mp4\n'])
  const remix = await studio.run(['remix', '--sandbox', '--last', '--no-wait', 'Make it night'])
  expect(remix.exit).toBe(0)
  passTenSeconds(studio)
  const remixed = await studio.run(['wait', '--sandbox', '-o', 'y.mp4', remix.stdout.trim()])
  expect([remixed.exit, remixed.stdout]).toEqual([0, 'y.mp4\n'])
  expect(await studio.list()).toMatchObject([{ kind: 'video' }, { kind: 'operation', state: 'completed' }])
}, 60_000)
