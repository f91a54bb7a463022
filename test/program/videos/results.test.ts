import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closeDelimited, end, head, readAll, text, write } from '../../support/server-replies.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import {
  clip,
  film,
  finished,
  generate,
  given,
  operation,
  otherClip,
  runGiven,
  savingX,
  started,
} from './video-replies.ts'

const several = ['generate', '-m', 'veo', '--sample-count', '3', '--wait', 'A boat']
const three = ['/1.mp4', '/2.mp4', '/3.mp4']
const thirdClip = mp4Bytes({ duration: 6000 }, Buffer.alloc(7000, 3))
const page = text('<html>Not here</html>', { headers: { 'content-type': 'text/html' } })
const one = [started, finished(['/a.mp4'])]
const piped = [...generate, '--wait', '-o', '-']

test.each([
  ['clip.mp4', ['clip-1.mp4', 'clip-2.mp4', 'clip-3.mp4']],
  ['{id}_{slug}_{index}.{ext}', ['op-0123_a-boat_1.mp4', 'op-0123_a-boat_2.mp4', 'op-0123_a-boat_3.mp4']],
])('several samples into several files: -o %s', async (name, names) => {
  const films = [film(), film(otherClip), film(thirdClip)]
  const { code, out, files, read } = await runGiven(
    [...several, '-o', name],
    started,
    finished(three),
    ...films,
  )
  expect([code, out, files()]).toEqual([0, names.map((file) => `${file}\n`).join(''), names])
  expect(names.map((file) => read(file).length)).toEqual(
    [clip, otherClip, thirdClip].map(({ length }) => length),
  )
})

test('one that fails does not keep the others, and can be had later without them', async () => {
  const later = [finished(three), film(otherClip)]
  const { run, records, cwd, paste, read } = await given(
    started,
    finished(three),
    film(),
    page,
    film(thirdClip),
    ...later,
  )
  const { code, out, err } = await run([...several, '-o', 'x.mp4'])
  expect([code, out]).toEqual([11, 'x-1.mp4\nx-3.mp4\n'])
  expect(err).toContain('1 of 3 videos could not be saved.')
  expect(err).toContain(`modelgate wait ${operation}`)
  expect(await records()).toMatchObject([{ files: [join(cwd, 'x-1.mp4'), join(cwd, 'x-3.mp4')] }])
  expect(await paste(err.slice(err.indexOf('hint')))).toMatchObject({
    code: 0,
    out: 'x-1.mp4\nx-3.mp4\nx-2.mp4\n',
  })
  expect(read('x-2.mp4').equals(otherClip)).toBe(true)
})

test('what filters hold back is told, and is exit 12 for the others', async () => {
  const more = { raiMediaFilteredCount: 2, raiMediaFilteredReasons: ['Blood.', 'A celebrity.'] }
  const { run } = await given(started, finished(['/1.mp4'], more), film())
  const { code, out } = await run([...several, '-o', 'x.mp4', '--json'])
  expect([code, JSON.parse(out)]).toMatchObject([
    12,
    {
      state: 'completed',
      files: [{ path: 'x-1.mp4' }],
      failures: [
        { index: 2, code: 'content_refused', message: 'Blood.' },
        { index: 3, code: 'content_refused', message: 'A celebrity.' },
      ],
    },
  ])
  const later = await run(['wait', '--last'])
  expect(later).toMatchObject({ code: 12, out: 'x-1.mp4\n' })
  expect(later.err).toContain('2 of 3 videos were withheld')
})

test('fewer videos than were asked for are exit 12', async () => {
  const replies = [started, finished(['/1.mp4', '/2.mp4']), film(), film(otherClip)]
  const { code, out, err } = await runGiven([...several, '-o', 'x.mp4', '--json'], ...replies)
  const message = 'The gateway sent only 2 of 3 videos.'
  expect([code, JSON.parse(out)]).toMatchObject([
    12,
    {
      files: [{ path: 'x-1.mp4' }, { path: 'x-2.mp4' }],
      failures: [{ index: 3, code: 'nothing_generated', message, rescued: null }],
      warnings: [],
    },
  ])
  expect(err).toContain(`video 3 failed: ${message}\n`)
})

test('a video that cannot be verified is a result with a warning; with --strict a failure', async () => {
  const packet = Buffer.concat([Buffer.from('47400011', 'hex'), Buffer.alloc(184, 0xff)])
  const stream = film(Buffer.concat([packet, packet, packet, packet]))
  for (const [words, code] of [[[], 0] as const, [['--strict'], 9] as const]) {
    const ended = await runGiven([...generate, '--wait', '-o', 'x.ts', ...words], ...one, stream)
    expect(ended).toMatchObject({ code, out: 'x.ts\n' })
    expect(ended.err).toContain('Could not verify that the video is complete')
  }
})

const half = [
  readAll,
  write(head(200, { 'content-length': String(clip.length) })),
  write(clip.subarray(0, 2500)),
  end,
]

test.each([
  ['the bytes', [film()], 0, clip],
  ['what goes on where the pipe was', [half, film()], 0, clip],
  ['nothing of another video after that', [half, film(otherClip)], 11, clip.subarray(0, 2500)],
  ['no page instead of a video', [page], 11, Buffer.of()],
  ['nothing of nothing', [text('')], 11, Buffer.of()],
])('-o - writes %s to standard output, and nothing else', async (_, replies, exit, expected) => {
  const { code, bytes, files, err } = await runGiven(piped, ...one, ...replies)
  expect([code, bytes.equals(expected), files()]).toEqual([exit, true, []])
  expect(err).toContain(operation)
})

test.each([
  ['two documents on one stream', [...piped, '--json'], '-o - and --json'],
  ['events and bytes', [...piped, '--jsonl'], '-o - and --jsonl'],
  ['two videos on one stream', [...piped, '--sample-count', '2'], '-o - takes one video'],
  ['an id', [...generate, '-o', '-', '--no-wait'], '-o - writes the video itself; with --no-wait only an id'],
])('-o - is refused for %s', async (_, words, says) => {
  const { code, out, err } = await runGiven(words)
  expect([code, out + err]).toEqual([2, expect.stringContaining(says)])
})

test('two videos of a job of which nothing is known are not written to one stream', async () => {
  const { code, out, err } = await runGiven(['wait', operation, '-o', '-'], finished(['/1.mp4', '/2.mp4']))
  expect([code, out, err]).toEqual([2, '', expect.stringContaining('the job has 2')])
})

test('waited for from another folder, the video goes where the first command was run', async () => {
  const { cwd, run, home, read } = await given(...one, film())
  mkdirSync(join(cwd, 'out'))
  await run([...generate, '-o', 'out/x.mp4'])
  const path = join(cwd, 'out/x.mp4')
  expect(await run(['wait', operation], { cwd: home })).toMatchObject({ code: 0, out: `${path}\n` })
  expect(read('out/x.mp4').equals(clip)).toBe(true)
})

test('a video that was named but not recorded before a crash is not kept twice', async () => {
  const { run, cwd, files } = await given(...one, film())
  await run([...generate, '--no-wait', '-o', 'x.mp4'])
  writeFileSync(join(cwd, 'x.mp4'), clip)
  expect(await run(['wait', '--last'])).toMatchObject({ code: 0, out: 'x.mp4\n' })
  expect(files()).toEqual(['x.mp4'])
})

test('a file of somebody else is kept, and the video gets the next name', async () => {
  const { run, cwd, files } = await given(...one, film())
  await run([...generate, '--no-wait', '-o', 'x.mp4'])
  writeFileSync(join(cwd, 'x.mp4'), otherClip)
  const { code, out, err } = await run(['wait', '--last'])
  expect([code, out, files()]).toEqual([0, 'x-2.mp4\n', ['x-2.mp4', 'x.mp4']])
  expect(err).toContain('x.mp4 already exists')
  // Its other name is on record.
  expect((await run(['wait', '--last'])).out).toBe(`${join(cwd, 'x-2.mp4')}\n`)
})

test('a video of an unknown format is kept as bin, or under the name that was asked for', async () => {
  const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31 + 5) % 256))
  const { run, read } = await given(...one, closeDelimited([noise]))
  const { code, out } = await run([...generate, '--wait', '-o', 'x.{ext}', '--json'])
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    {
      files: [{ path: 'x.bin', mime_type: 'application/octet-stream', format: 'bin', verified: false }],
      warnings: ['Could not verify that the video is complete: x.bin may be truncated.'],
    },
  ])
  expect(read('x.bin').equals(noise)).toBe(true)
  expect(await run(['wait', '--last'])).toMatchObject({ code: 0, out: 'x.bin\n' })
  expect(await runGiven(savingX, ...one, closeDelimited([noise]))).toMatchObject({ code: 0, out: 'x.mp4\n' })
})
