import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { jobGateway, moments, type JobGateway, type Moment } from '../support/job-gateway.ts'
import { until } from '../support/running-sandbox.ts'
import { paddedPng } from '../support/test-images.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { videoWorkspace, type VideoWorkspace } from './video-workspace.ts'

/** Several writes long. */
const clip = mp4Bytes({ width: 1280, height: 720 }, Buffer.alloc(3_000_000, 7))
const film = () => clip
/** So long that the POST does not fit into what the system holds of a connection. */
const picture = paddedPng(pngBytes(), 12_000_000)
const words = ['generate', '-m', 'veo', '--wait', '--image', 'in.png', '-o', 'x.mp4', 'A boat']

function workspaceAt(gateway: JobGateway): VideoWorkspace {
  const workspace = videoWorkspace(gateway)
  writeFileSync(join(workspace.cwd, 'in.png'), picture)
  return workspace
}

/** What holds after a kill at any time: the job is found again and finished, or nobody knows more than its key. */
async function expectFound(workspace: VideoWorkspace, gateway: JobGateway): Promise<'finished' | 'unknown'> {
  const before = await workspace.list()
  const { id, idempotency_key: key } = before[0]!
  const { exit, stdout, stderr } = await workspace.run(['wait', '--last'])
  const after = await workspace.list()
  const account = {
    jobs: [before.length, after.length],
    // A job that was asked for under another key would be a second one.
    keys: new Set([key, ...gateway.asked]).size,
    posts: Math.max(1, gateway.asked.length),
    exit,
    out: stdout.trim().split('/').at(-1),
    files: workspace.files(),
    isWhole: workspace.has('x.mp4') && workspace.read('x.mp4').equals(clip),
    tellsKey: stderr.includes(key),
    state: after[0]!.state,
    saved: after[0]!.files,
  }
  const common = { jobs: [1, 1], keys: 1, posts: 1 }
  const unknown = { exit: 2, out: '', files: ['in.png'], isWhole: false, tellsKey: true }
  const finished = { exit: 0, out: 'x.mp4', files: ['in.png', 'x.mp4'], isWhole: true, tellsKey: false }
  expect(account).toEqual(
    id === null
      ? { ...common, ...unknown, state: 'unknown', saved: [] }
      : { ...common, ...finished, state: 'completed', saved: [join(workspace.cwd, 'x.mp4')] },
  )
  return id === null ? 'unknown' : 'finished'
}

/** Until its answer has come the job may exist, and nobody knows its name; from then on it is never lost. */
function possible(moment: Moment): readonly string[] {
  if (moment === 'post-begun' || moment === 'post-received') return ['unknown']
  return moment === 'name-sent' || moment === 'post-answered' ? ['unknown', 'finished'] : ['finished']
}

test.each(moments)('killed at %s, the job is found again', async (moment) => {
  const gateway = await jobGateway({ film, stopAt: moment })
  const workspace = workspaceAt(gateway)
  const program = workspace.start(words)
  await until(() => gateway.seen.includes(moment) || program.process.exitCode !== null)
  program.process.kill('SIGKILL')
  // Nothing holds back a program whose last answer has come: it may have ended by itself.
  expect(['SIGKILL', ...(moment === 'video-sent' ? [0] : [])]).toContain((await program.ended).exit)
  expect(possible(moment)).toContain(await expectFound(workspace, gateway))
})

test('killed when the name of the job is on disk and its reply has no end, the job is finished', async () => {
  const gateway = await jobGateway({ film, stopAt: 'name-sent' })
  const workspace = workspaceAt(gateway)
  const program = workspace.start(words)
  await until(() => workspace.reply().includes('op0"') || program.process.exitCode !== null)
  program.process.kill('SIGKILL')
  expect((await program.ended).exit).toBe('SIGKILL')
  expect(await expectFound(workspace, gateway)).toBe('finished')
  expect(workspace.reply()).toBe('')
})

test.each<[string, (workspace: VideoWorkspace, program: { stderr: string }) => boolean]>([
  ['the id has been told', (_, { stderr }) => stderr.includes('started; resume with')],
  ['the temporary file is there', (workspace) => workspace.parts().some((name) => name.startsWith('.x.mp4'))],
  ['the file has got its name', (workspace) => workspace.has('x.mp4')],
])('killed as soon as %s, the job is finished', async (_, condition) => {
  const gateway = await jobGateway({ film })
  const workspace = workspaceAt(gateway)
  const program = workspace.start(words)
  // The place is tried before anything is sent, and that is another temporary file.
  await until(() => gateway.seen.includes('post-answered'))
  await until(() => condition(workspace, program) || program.process.exitCode !== null, workspace.cwd)
  program.process.kill('SIGKILL')
  await program.ended
  expect(await expectFound(workspace, gateway)).toBe('finished')
  expect(gateway.created.length).toBe(1)
})
