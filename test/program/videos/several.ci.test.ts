import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { localServer } from '../../support/local-server.ts'
import { hold, json } from '../../support/server-replies.ts'
import { workspaceAt } from '../workspace.ts'
import { clip, film, otherClip } from './video-replies.ts'

/** What becomes of a job: its film, a reason why it failed, or nothing yet. */
type Fate = Buffer | string | undefined

/** A machine with jobs that come to these ends, each when it is looked up for the second time. */
async function withJobs(...fates: Fate[]) {
  const seen: string[] = []
  let created = 0
  let filmsAsked = 0
  /** Which of the films, counted as they are asked for, are sent only after another one has been asked for. */
  const { promise: secondAsked, resolve: onSecond } = Promise.withResolvers<void>()
  const answer = (value: object) => json(value, { headers: { 'openai-poll-after-ms': '100' } })
  const server = await localServer(({ line }) => {
    const [method, path = ''] = line.split(' ')
    if (method === 'POST') return answer({ id: `video_${created++}`, status: 'queued' })
    seen.push(path)
    const [, id, number] = /(video_(\d+))/.exec(path)!
    const fate = fates[Number(number)]
    if (path.endsWith('/content')) {
      if (++filmsAsked === 2) onSecond()
      return filmsAsked === 1 && fates.length === 2
        ? [hold(secondAsked), ...film(fate as Buffer)]
        : film(fate as Buffer)
    }
    const isFirst = seen.filter((other) => other === path).length === 1
    if (isFirst || fate === undefined) return answer({ id, status: 'in_progress', progress: 40 })
    return typeof fate === 'string'
      ? answer({ id, status: 'failed', error: { code: 'policy', message: fate } })
      : answer({ id, status: 'completed', progress: 100 })
  })
  const { run, ...workspace } = workspaceAt(server, ['video'])
  for (const at of fates.keys())
    await run(['remix', '-m', 'sora-2', 'source', `Film ${at}`, '--no-check', '--no-wait'])
  return {
    ...workspace,
    seen,
    async wait(words: string, env = {}) {
      const { out, ...ended } = await run(['wait', ...words.split(' ')], { env })
      return { ...ended, out, lines: out.trim().split('\n').toSorted() }
    },
  }
}

test('several jobs are waited for at once, and a download does not hold up the others', async () => {
  // The film of the first is sent after that of the second has been asked for.
  const { wait, read } = await withJobs(clip, otherClip)
  const { code, lines, err } = await wait('video_0 video_1 video_0 -o clips-{id}.mp4')
  expect([code, lines]).toEqual([0, ['clips-video_0.mp4', 'clips-video_1.mp4']])
  expect(read('clips-video_1.mp4').equals(otherClip)).toBe(true)
  expect(err).toContain('job video_0: in_progress, 40%')
  expect(err).toContain('job video_1: in_progress, 40%')
})

test('--all waits for what has not ended, without the address, and then for nothing', async () => {
  const { wait, seen } = await withJobs(clip, otherClip)
  const env = { MODELGATE_BASE_URL: '' }
  const first = await wait('--all', env)
  expect([first.code, first.lines.length]).toEqual([0, 2])
  const before = seen.length
  const none = { code: 0, out: '', err: 'There is nothing left to wait for.\n' }
  expect(await wait('--all', env)).toMatchObject(none)
  const saved = await wait('video_0 video_1', env)
  expect([saved.code, saved.lines]).toEqual([0, first.lines])
  expect(saved.err).toContain('no gateway was contacted')
  expect(seen.length).toBe(before)
})

test('one that fails is told, and is exit 12 for all; the others are saved', async () => {
  const { wait } = await withJobs(clip, 'Not this.', otherClip)
  const { code, lines, err } = await wait('video_0 video_1 video_2')
  expect([code, lines.length]).toEqual([12, 2])
  const message = 'The job video_1 failed: Not this. (policy)'
  expect(err).toContain(`${message}\n`)
  expect(err).toContain('modelgate: 1 of 3 jobs failed.\n')
  const again = await wait('video_0 video_1 video_2 --json')
  expect([again.code, JSON.parse(again.out).videos]).toMatchObject([
    12,
    [
      { id: 'video_0', state: 'completed', error: null, files: [{ seconds: 4 }] },
      { id: 'video_1', state: 'failed', error: { code: 'generation_failed', message }, files: [] },
      { id: 'video_2', state: 'completed', error: null, files: [{ seconds: 8 }] },
    ],
  ])
})

test('what still runs at the deadline is 11, with a command for those that run', async () => {
  const { wait } = await withJobs(clip, undefined, 'Not this.', undefined)
  const { code, lines, err } = await wait('video_0 video_1 video_2 video_3 --timeout 60')
  expect([code, lines.length]).toEqual([11, 1])
  expect(err).toContain('modelgate: 2 of 4 jobs are still running, and 1 failed.\n')
  expect(err).toContain('hint: To continue waiting: modelgate wait video_1 video_3\n')
})

test('Ctrl-C tells how to go on with all that are left', async () => {
  const { start, seen } = await withJobs(undefined, undefined)
  const { until, context, exitCode } = start(['wait', 'video_0', 'video_1'])
  await until(() => seen.length >= 2)
  context.abort(new Interrupted('interrupt'))
  expect(await exitCode).toBe(130)
  expect(context.stderr.text).toContain('To continue waiting: modelgate wait video_0 video_1\n')
})

test.each([
  ['one name for several', 'a_job b_job -o x.mp4', 'Name a folder (-o DIR/), or use {id}'],
  ['standard output', 'a_job b_job -o -', '-o - names the results of one job, and there are several.'],
  ['ids and --all', 'a_job --all', 'Give ids, --last or --all'],
  ['ids and --last', 'a_job b_job --last', 'Give ids, --last or --all'],
  ['a dry run', 'a_job b_job --dry-run', 'show one request: give one id.'],
])('%s is refused before anything is asked', async (_, words, says) => {
  const { wait, seen } = await withJobs()
  const { code, err } = await wait(words)
  expect([code, seen, err]).toEqual([2, [], expect.stringContaining(says)])
})
