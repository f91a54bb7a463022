import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { clip, otherClip } from './video-replies.ts'
import { expectNoPart, videoWorkspace, type VideoWorkspace } from './video-run.ts'

/** What becomes of a job: its film, a reason why it failed, or nothing yet. */
type Fate = Buffer | string | undefined

/** A gateway whose remixes come to the ends that they were given, one after the other; each is looked up twice. */
async function fatefulGateway(fates: readonly Fate[]) {
  const seen: string[] = []
  const looked = new Map<string, number>()
  let created = 0
  /** Films that are asked for before this are sent after it. */
  let held: Promise<unknown> = Promise.resolve()
  let films = 0
  let filmsUntil = Infinity
  let onFilms = () => {}
  const json = (response: ServerResponse, value: object) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'openai-poll-after-ms': '100' })
      .end(JSON.stringify(value))
  const server = createServer(async (request, response) => {
    const path = request.url!
    seen.push(path)
    for await (const _ of request);
    if (request.method === 'POST') return json(response, { id: `video_${created++}`, status: 'queued' })
    const [, id, number] = /(video_(\d+))/.exec(path)!
    const fate = fates[Number(number)]
    if (path.endsWith('/content')) {
      if (++films === filmsUntil) onFilms()
      await held
      return response.writeHead(200, { 'content-type': 'video/mp4' }).end(fate)
    }
    const count = (looked.get(id!) ?? 0) + 1
    looked.set(id!, count)
    if (count < 2 || fate === undefined) return json(response, { id, status: 'in_progress', progress: 40 })
    return typeof fate === 'string'
      ? json(response, { id, status: 'failed', error: { code: 'policy', message: fate } })
      : json(response, { id, status: 'completed', progress: 100 })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    holdFilms: (until: Promise<unknown>) => void (held = until),
    /** Calls back once so many films have been asked for. */
    onFilm(callback: () => void, count: number) {
      onFilms = callback
      filmsUntil = count
    },
  }
}

async function withJobs(fates: readonly Fate[]) {
  const gateway = await fatefulGateway(fates)
  const workspace = videoWorkspace(gateway)
  for (const at of fates.keys()) await begin(workspace, `Film ${at}`)
  gateway.seen.length = 0
  return { gateway, workspace }
}

const begin = (workspace: VideoWorkspace, prompt: string) =>
  workspace.run(['remix', '-m', 'sora-2', 'video_source', prompt, '--no-check', '--no-wait'])

test('several jobs are waited for at once, and the video of each is saved', async () => {
  const { workspace } = await withJobs([clip, otherClip])
  const { code, out, err } = await workspace.run([
    'wait',
    'video_0',
    'video_1',
    'video_0',
    '-o',
    'clips-{id}.mp4',
  ])
  expect(code).toBe(0)
  expect(out.trim().split('\n').sort()).toEqual(['clips-video_0.mp4', 'clips-video_1.mp4'])
  expect(workspace.read('clips-video_1.mp4').equals(otherClip)).toBe(true)
  expect(err).toContain('job video_0: in_progress, 40%')
  expect(err).toContain('job video_1: in_progress, 40%')
  expectNoPart(workspace)
})

test('--all waits for what has not ended, without the address, and then for nothing', async () => {
  const { workspace, gateway } = await withJobs([clip, otherClip])
  const env = { MODELGATE_BASE_URL: '' }
  const first = await workspace.run(['wait', '--all'], { env })
  expect([first.code, first.out.trim().split('\n').length]).toEqual([0, 2])
  gateway.seen.length = 0
  const again = await workspace.run(['wait', '--all'], { env })
  expect(again).toMatchObject({ code: 0, out: '', err: 'There is nothing left to wait for.\n' })
  const saved = await workspace.run(['wait', 'video_0', 'video_1'], { env })
  expect([saved.code, saved.out.trim().split('\n').sort()]).toEqual([0, first.out.trim().split('\n').sort()])
  expect(saved.err).toContain('no gateway was contacted')
  expect(gateway.seen).toEqual([])
})

test('one that fails is told, and is exit 12 for all; the others are saved', async () => {
  const { workspace } = await withJobs([clip, 'Not this.', otherClip])
  const ids = ['video_0', 'video_1', 'video_2']
  const { code, out, err } = await workspace.run(['wait', ...ids])
  expect([code, out.trim().split('\n').length]).toEqual([12, 2])
  expect(err).toContain('The job video_1 failed: Not this. (policy)\n')
  expect(err).toContain('modelgate: 1 of 3 jobs failed.\n')
  const again = await workspace.run(['wait', ...ids, '--json'])
  expect(again.code).toBe(12)
  const { videos } = JSON.parse(again.out)
  expect(videos).toMatchObject([
    { id: 'video_0', state: 'completed', error: null, files: [{ seconds: 4 }] },
    {
      id: 'video_1',
      state: 'failed',
      error: { code: 'generation_failed', message: 'The job video_1 failed: Not this. (policy)' },
      files: [],
    },
    { id: 'video_2', state: 'completed', error: null, files: [{ seconds: 8 }] },
  ])
})

test('what still runs at the deadline is 11, with a command for those that run', async () => {
  const { workspace } = await withJobs([clip, undefined, 'Not this.', undefined])
  const ids = ['video_0', 'video_1', 'video_2', 'video_3']
  const { code, out, err } = await workspace.run(['wait', ...ids, '--timeout', '60'])
  expect([code, out.trim().split('\n').length]).toEqual([11, 1])
  expect(err).toContain('modelgate: 2 of 4 jobs are still running, and 1 failed.\n')
  expect(err).toContain('hint: To continue waiting: modelgate wait video_1 video_3\n')
})

test('Ctrl-C tells how to go on with all that are left', async () => {
  const { workspace, gateway } = await withJobs([undefined, undefined])
  const program = workspace.start(['wait', 'video_0', 'video_1'])
  await program.until(() => gateway.seen.length >= 2)
  program.context.abort(new Interrupted('interrupt'))
  expect(await program.exitCode).toBe(130)
  expect(program.context.stderr.text).toContain('To continue waiting: modelgate wait video_0 video_1\n')
})

test('a download does not hold up the look-ups of the others', async () => {
  const { workspace, gateway } = await withJobs([clip, otherClip])
  const { promise: seenAgain, resolve: letGo } = Promise.withResolvers<void>()
  // The film of the first is sent after the second has been looked up to its end.
  gateway.holdFilms(seenAgain)
  gateway.onFilm(letGo, 2)
  const { code, out } = await workspace.run(['wait', 'video_0', 'video_1'])
  expect([code, out.trim().split('\n').length]).toEqual([0, 2])
})

test.each<[string, readonly string[], number, string]>([
  [
    'one name for several',
    ['wait', 'a_job', 'b_job', '-o', 'x.mp4'],
    2,
    'Name a folder (-o DIR/), or use {id}',
  ],
  [
    'standard output',
    ['wait', 'a_job', 'b_job', '-o', '-'],
    2,
    '-o - names the results of one job, and there are several.',
  ],
  ['ids and --all', ['wait', 'a_job', '--all'], 2, 'Give ids, --last or --all'],
  ['ids and --last', ['wait', 'a_job', 'b_job', '--last'], 2, 'Give ids, --last or --all'],
  ['a dry run', ['wait', 'a_job', 'b_job', '--dry-run'], 2, 'show one request: give one id.'],
])('%s is refused before anything is asked', async (_, words, exit, says) => {
  const { workspace, gateway } = await withJobs([])
  const { code, err } = await workspace.run(words)
  expect([code, gateway.seen]).toEqual([exit, []])
  expect(err).toContain(says)
})
