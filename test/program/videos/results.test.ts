import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import {
  closeDelimited,
  end,
  head,
  json,
  readAll,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import {
  clip,
  film,
  finished,
  generate,
  operation,
  otherClip,
  remix,
  started,
  video,
  videoId,
  given,
  runGiven,
  savingX,
} from './video-replies.ts'
import { videoWorkspace } from './video-run.ts'

const several = ['generate', '-m', 'veo', '--sample-count', '3', '--wait', 'A boat']
const three = ['/1.mp4', '/2.mp4', '/3.mp4']
const thirdClip = mp4Bytes({ duration: 6000 }, Buffer.alloc(7000, 3))
const gone = text('{"error":{"message":"Gone."}}', { status: 410 })
const page = text('<html>Not here</html>', { headers: { 'content-type': 'text/html' } })

test.each([
  ['clip.mp4', ['clip-1.mp4', 'clip-2.mp4', 'clip-3.mp4']],
  ['{slug}-{index}.{ext}', ['a-boat-1.mp4', 'a-boat-2.mp4', 'a-boat-3.mp4']],
  ['{id}_{index}.{ext}', ['op-0123_1.mp4', 'op-0123_2.mp4', 'op-0123_3.mp4']],
])('several samples into several files: -o %s', async (name, names) => {
  const { run, files, read } = await given(started, finished(three), film(), film(otherClip), film(thirdClip))
  const { code, out } = await run([...several, '-o', name])
  expect([code, out, files()]).toEqual([0, names.map((file) => `${file}\n`).join(''), names])
  expect(names.map((file) => read(file).equals(clip))).toEqual([true, false, false])
  expect(read(names[1]!).equals(otherClip)).toBe(true)
})

test('one that fails does not keep the others, and can be had later without them', async () => {
  const { run, records, cwd, paste, files, read } = await given(
    started,
    finished(three),
    film(),
    page,
    film(thirdClip),
    finished(three),
    film(otherClip),
  )
  const { code, out, err } = await run([...several, '-o', 'x.mp4'])
  expect([code, out]).toEqual([11, 'x-1.mp4\nx-3.mp4\n'])
  expect(err).toContain('1 of 3 videos could not be saved.')
  expect(err).toContain(`modelgate wait ${operation}`)
  expect(await records()).toMatchObject([{ files: ['x-1.mp4', 'x-3.mp4'].map((f) => join(cwd, f)) }])

  const again = await paste(err.slice(err.indexOf('hint')))
  expect([again.code, again.out]).toEqual([0, 'x-1.mp4\nx-3.mp4\nx-2.mp4\n'])
  expect(files()).toEqual(['x-1.mp4', 'x-2.mp4', 'x-3.mp4'])
  expect(read('x-2.mp4').equals(otherClip)).toBe(true)
})

test('what filters hold back is told, and is exit 12 for the others', async () => {
  const more = { raiMediaFilteredCount: 2, raiMediaFilteredReasons: ['Blood.', 'A celebrity.'] }
  const { run } = await given(started, finished(['/1.mp4'], more), film())
  const { code, out } = await run([...several, '-o', 'x.mp4', '--json'])
  expect(code).toBe(12)
  expect(JSON.parse(out)).toMatchObject({
    state: 'completed',
    files: [{ path: 'x-1.mp4' }],
    failures: [
      { index: 2, code: 'content_refused', message: 'Blood.' },
      { index: 3, code: 'content_refused', message: 'A celebrity.' },
    ],
  })
  const later = await run(['wait', '--last'])
  expect([later.code, later.out]).toEqual([12, 'x-1.mp4\n'])
  expect(later.err).toContain('2 of 3 videos were withheld')
})

test('fewer videos than were asked for are exit 12', async () => {
  const { run } = await given(started, finished(['/1.mp4', '/2.mp4']), film(), film(otherClip))
  const { code, out, err } = await run([...several, '-o', 'x.mp4', '--json'])
  expect(code).toBe(12)
  const message = 'The gateway sent only 2 of 3 videos.'
  expect(JSON.parse(out)).toMatchObject({
    state: 'completed',
    files: [{ path: 'x-1.mp4' }, { path: 'x-2.mp4' }],
    failures: [{ index: 3, code: 'nothing_generated', message, rescued: null }],
    warnings: [],
  })
  expect(err).toContain(`video 3 failed: ${message}\n`)
})

test('a video that cannot be verified is a result with a warning; with --strict a failure', async () => {
  const open = Buffer.concat([Buffer.from('47400011', 'hex'), Buffer.alloc(184, 0xff)])
  const stream = Buffer.concat(Array.from({ length: 4 }, () => open))
  for (const [words, exit] of [
    [[], 0],
    [['--strict'], 9],
  ] as const) {
    const { run } = await given(started, finished(['/a.ts']), film(stream))
    const { code, out, err } = await run([...generate, '--wait', '-o', 'x.ts', ...words])
    expect([code, out]).toEqual([exit, 'x.ts\n'])
    expect(err).toContain('Could not verify that the video is complete')
  }
})

test('-o - writes the bytes to standard output, and nothing else', async () => {
  const { run, files } = await given(started, finished(['/a.mp4']), film())
  const { code, bytes, err } = await run([...generate, '--wait', '-o', '-'])
  expect([code, bytes.equals(clip), files()]).toEqual([0, true, []])
  expect(err).toContain(operation)
})

test.each([
  ['a page instead of a video', [page]],
  ['nothing', [text('')]],
])('-o -: %s writes nothing to standard output', async (_, replies) => {
  const { run } = await given(started, finished(['/a.mp4']), ...replies)
  const { code, bytes } = await run([...generate, '--wait', '-o', '-'])
  expect([code, bytes.length]).toEqual([11, 0])
})

test.each([
  ['two documents on one stream', ['--json'], /-o - and --json/],
  ['events and bytes', ['--jsonl'], /-o - and --jsonl/],
  ['two videos on one stream', ['--sample-count', '2'], /-o - takes one video/],
])('-o - is refused for %s', async (_, words, says) => {
  const { code, out, err } = await runGiven([...generate, '--wait', '-o', '-', ...words])
  expect([code, out + err]).toEqual([2, expect.stringMatching(says)])
})

test('-o - is refused where nothing waits for the video', async () => {
  const { code, out, err } = await runGiven([...generate, '-o', '-', '--no-wait'])
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('-o - writes the video itself; with --no-wait only an id is printed.')
})

test('two videos of a job of which nothing is known are not written to one stream', async () => {
  const { code, bytes, err } = await runGiven(['wait', operation, '-o', '-'], finished(['/1.mp4', '/2.mp4']))
  expect([code, bytes.length]).toEqual([2, 0])
  expect(err).toContain('the job has 2')
})

test('an expired result is said to be expired, and when, after one look for a fresh address', async () => {
  const expiresAt = Date.UTC(2025, 11, 31, 23) / 1000
  const done = video('completed', { expires_at: expiresAt, url: '/signed.mp4' })
  const { run, files } = await given(done, gone, gone, done, gone, gone)
  const { code, out, err } = await run(['wait', videoId, '-o', 'x.mp4'])
  expect([code, out, files()]).toEqual([4, '', []])
  expect(err).toContain('The video has expired: it was available until 2025-12-31T23:00:00Z.')
  expect(err).not.toContain('fetch it again')
})

test('an address that has expired is replaced by a fresh one', async () => {
  const { server, run } = await given(
    video('completed', { url: '/old.mp4' }),
    gone,
    gone,
    video('completed', { url: '/new.mp4' }),
    film(),
  )
  const { code, out } = await run(['wait', videoId, '-o', 'x.mp4'])
  expect([code, out, server.requests.at(-1)!.line]).toEqual([0, 'x.mp4\n', 'GET /new.mp4 HTTP/1.1'])
})

test('waited for from another folder, the video goes where the first command was run', async () => {
  const { cwd, run, home, read } = await given(started, finished(['/a.mp4']), film())
  mkdirSync(join(cwd, 'out'))
  await run([...generate, '-o', 'out/x.mp4'])
  const elsewhere = join(home, 'elsewhere')
  mkdirSync(elsewhere)
  const { code, out } = await run(['wait', operation], { cwd: elsewhere })
  expect([code, out]).toEqual([0, `${join(cwd, 'out/x.mp4')}\n`])
  expect(read('out/x.mp4').equals(clip)).toBe(true)
})

test('a gateway that tells about operations only as videos', async () => {
  const id = 'op-0123'
  const missing = text('{"error":{"message":"Invalid URL (GET /v1beta/models/veo/operations/op-0123)"}}', {
    status: 404,
  })
  const asVideo = (status: string) => json({ id, object: 'video', status })
  const { server, run } = await given(started, missing, asVideo('in_progress'), asVideo('completed'), film())
  const { code, out } = await run(savingX)
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(server.requests.map(({ line }) => line.split(' ')[1])).toEqual([
    '/v1beta/models/veo:predictLongRunning',
    `/v1beta/${operation}`,
    `/v1/videos/${id}`,
    `/v1/videos/${id}`,
    `/v1/videos/${id}/content`,
  ])
})

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['the usual place', {}, `/v1/videos/${videoId}/content`],
  ['a URL of its own', { video_url: '/made/v.mp4' }, '/made/v.mp4'],
  ['metadata', { metadata: { url: '/made/m.mp4' } }, '/made/m.mp4'],
])('a video is fetched from %s', async (_, more, path) => {
  const { server, run } = await given(video('queued'), video('completed', more), film())
  const { code, out } = await run([...remix, '--no-check', '--wait', '-o', 'x.mp4'])
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(server.requests.at(-1)!.line).toBe(`GET ${path} HTTP/1.1`)
})

const half = (): ServerReply => [
  readAll,
  write(head(200, { 'content-length': String(clip.length) })),
  write(clip.subarray(0, 2500)),
  end,
]

test.each([
  ['goes on where the pipe was', clip, 0],
  ['of another video ends', otherClip, 11],
])('a download to standard output that begins again %s', async (_, again, exit) => {
  const { run } = await given(started, finished(['/a.mp4']), half(), film(again))
  const { code, bytes } = await run([...generate, '--wait', '-o', '-'])
  expect([code, bytes.equals(exit === 0 ? clip : clip.subarray(0, 2500))]).toEqual([exit, true])
})

test('a video that was named but not recorded before a crash is not kept twice', async () => {
  const { run, cwd, files } = await given(started, finished(['/a.mp4']), film())
  await run([...generate, '--no-wait', '-o', 'x.mp4'])
  writeFileSync(join(cwd, 'x.mp4'), clip)
  const { code, out } = await run(['wait', '--last'])
  expect([code, out, files()]).toEqual([0, 'x.mp4\n', ['x.mp4']])
})

test('a file of somebody else is kept, and the video gets the next name', async () => {
  const { run, cwd, files } = await given(started, finished(['/a.mp4']), film())
  await run([...generate, '--no-wait', '-o', 'x.mp4'])
  writeFileSync(join(cwd, 'x.mp4'), otherClip)
  const { code, out, err } = await run(['wait', '--last'])
  expect([code, out, files()]).toEqual([0, 'x-2.mp4\n', ['x-2.mp4', 'x.mp4']])
  expect(err).toContain('x.mp4 already exists')
  // Its other name is on record.
  expect((await run(['wait', '--last'])).out).toBe(`${join(cwd, 'x-2.mp4')}\n`)
})

test('a video of an unknown format is kept, under the name that was asked for or as bin', async () => {
  const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31 + 5) % 256))
  const { run, read, files } = await given(
    started,
    finished(['/a', '/b']),
    closeDelimited([noise]),
    closeDelimited([noise]),
  )
  const words = ['generate', '-m', 'veo', '--sample-count', '2', '--wait', '-o', 'x-{index}.{ext}', 'A boat']
  const { code, out } = await run([...words, '--json'])
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    {
      files: [
        { path: 'x-1.bin', mime_type: 'application/octet-stream', format: 'bin', verified: false },
        { path: 'x-2.bin', verified: false },
      ],
      warnings: [
        'Could not verify that the video is complete: x-1.bin may be truncated.',
        'Could not verify that the video is complete: x-2.bin may be truncated.',
      ],
    },
  ])
  expect(read('x-1.bin').equals(noise)).toBe(true)
  const again = await run(['wait', '--last'])
  expect([again.code, again.out, files()]).toEqual([0, 'x-1.bin\nx-2.bin\n', ['x-1.bin', 'x-2.bin']])
  const named = await localServer([started, finished(['/a']), closeDelimited([noise])])
  const second = await videoWorkspace(named).run(savingX)
  expect([second.code, second.out]).toEqual([0, 'x.mp4\n'])
})
