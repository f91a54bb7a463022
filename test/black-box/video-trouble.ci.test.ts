import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { jobGateway } from '../support/job-gateway.ts'
import { until } from '../support/running-sandbox.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { videoWorkspace } from './video-workspace.ts'

const clip = mp4Bytes({}, Buffer.alloc(3_000_000, 7))
const film = () => clip
const generate = (output: string) => ['generate', '-m', 'veo', '--wait', '-o', output, 'A boat']
const canMount = process.platform === 'linux' && process.getuid?.() === 0

/** A file system of its own in this folder, which goes when the test ends. */
function mount(folder: string, options: string): void {
  mkdirSync(folder, { recursive: true })
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
}

test.skipIf(!canMount)('a disk that gets full (needs root for a tmpfs) does not lose the video', async () => {
  const gateway = await jobGateway({ film })
  const workspace = videoWorkspace(gateway)
  mount(join(workspace.cwd, 'small'), 'size=300k')
  const { exit, stdout, stderr } = await workspace.run(generate('small/x.mp4'))
  expect([exit, stdout, readdirSync(join(workspace.cwd, 'small'))]).toEqual([10, '', []])
  expect(stderr).toMatch(/^modelgate: .*x\.mp4.* no space/m)
  expect(stderr).toContain('The video has been made; to fetch it again: modelgate video wait')
  expect(stderr).toContain('The request was billed.')
  expect(await workspace.run(['wait', '--last', '-o', 'y.mp4'])).toMatchObject({ exit: 0, stdout: 'y.mp4\n' })
  expect(workspace.read('y.mp4').equals(clip)).toBe(true)
  expect(gateway.created.length).toBe(1)
})

test.skipIf(!canMount).each([
  ['has no room', 0, 'The job is not on record on this machine: '],
  ['gets full', 4096, "The job's record cannot be kept up to date: "],
])(
  'a disk for the records that %s (needs root for a tmpfs) is no reason to stop',
  async (_, left, warning) => {
    const gateway = await jobGateway({ film })
    const workspace = videoWorkspace(gateway)
    const state = join(workspace.cwd, '../.local/state')
    mount(state, 'size=64k')
    writeFileSync(join(state, 'ballast'), Buffer.alloc(64 * 1024 - left))
    const { exit, stdout, stderr } = await workspace.run(generate('x.mp4'))
    expect([exit, stdout]).toEqual([0, 'x.mp4\n'])
    expect(stderr).toMatch(/^job started; resume with: .* models\/veo\/operations\/op0$/m)
    expect(stderr).toContain(`warning: ${warning}`)
    expect(stderr).toContain('no space left')
  },
)

test.skipIf(!canMount)(
  'a read-only disk (needs root to mount one) is found before anything is sent',
  async () => {
    const gateway = await jobGateway({ film })
    const workspace = videoWorkspace(gateway)
    mount(join(workspace.cwd, 'closed'), 'ro')
    const { exit, stderr } = await workspace.run(generate('closed/x.mp4'))
    expect([exit, gateway.asked]).toEqual([10, []])
    expect(stderr).toMatch(/^modelgate: .*read-only/m)
    expect(await workspace.list()).toEqual([])
  },
)

test('a folder that vanishes while the job runs does not lose the video', async () => {
  const gateway = await jobGateway({ film, lookUps: 3 })
  const workspace = videoWorkspace(gateway)
  mkdirSync(join(workspace.cwd, 'out'))
  const program = workspace.start(generate('out/x.mp4'))
  await until(() => gateway.seen.includes('first-look-up'))
  rmSync(join(workspace.cwd, 'out'), { recursive: true })
  const { exit, stdout, stderr } = await program.ended
  expect([exit, stdout.length]).toEqual([10, 0])
  expect(stderr).toContain('to fetch it again: modelgate video wait')
  expect(await workspace.run(['wait', '--last', '-o', 'x.mp4'])).toMatchObject({ exit: 0, stdout: 'x.mp4\n' })
})

test('whoever reads the bytes of a video may go away', async () => {
  const gateway = await jobGateway({ film })
  const workspace = videoWorkspace(gateway)
  const program = workspace.start(generate('-'))
  program.process.stdout!.once('data', () => program.process.stdout!.destroy())
  const { exit } = await program.ended
  expect([exit, workspace.files(), workspace.parts()]).toEqual([0, [], []])
  expect(await workspace.list()).toMatchObject([{ state: 'completed', files: [] }])
})
