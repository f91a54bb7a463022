import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canMount, mountTmpfs } from '../../support/small-disks.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import { rescuedIn } from '../images/image-run.ts'
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

const huge = mp4Bytes({ width: 1280, height: 720 }, Buffer.alloc(500_000, 3))

test.skipIf(!canMount)(
  'the video for which there is no space is rescued, and the others are saved',
  async () => {
    const films = [clip, huge, otherClip].map((bytes) => film(bytes))
    const { cwd, run, state, records } = await given(started, finished(['/1', '/2', '/3']), ...films)
    mountTmpfs(join(cwd, 'out'), 64)
    const words = [...generate, '--set', 'parameters.sampleCount=3', '--wait', '-o', 'out/x.mp4', '--json']
    const { code, out } = await run(words)
    const rescued = expect.stringMatching(/^\/.*\/rescued\/\d{8}T\d{6}-x-2\.mp4$/)
    const message = expect.stringMatching(
      /^"out\/x-2\.mp4" cannot be written: there is no space left\. It is kept in /,
    )
    expect([code, JSON.parse(out)]).toMatchObject([
      12,
      {
        files: [{ path: 'out/x-1.mp4' }, { path: 'out/x-3.mp4' }],
        failures: [{ index: 2, code: 'no_space', message, rescued }],
      },
    ])
    expect(rescuedIn(state)).toEqual(new Map([['x-2.mp4', huge]]))
    const [record] = await records()
    expect(record!.files).toEqual([join(cwd, 'out/x-1.mp4'), join(cwd, 'out/x-3.mp4')])
    expect(record!.result).toBeUndefined()
  },
)

test.skipIf(!canMount)('the only one is rescued, too, and can be fetched again', async () => {
  const { cwd, run, state } = await given(started, finished(['/1']), film(huge))
  mountTmpfs(join(cwd, 'out'), 64)
  const { code, out, err } = await run([...generate, '--wait', '-o', 'out/x.mp4'])
  expect([code, out]).toEqual([10, ''])
  expect(err).toMatch(
    /^modelgate: "out\/x\.mp4" cannot be written: there is no space left\. It is kept in "\/.*-x\.mp4" instead\.$/m,
  )
  expect(err).toContain(`to fetch it again: modelgate wait ${operation}`)
  expect(rescuedIn(state)).toEqual(new Map([['x.mp4', huge]]))
})

test('one video asked and 300 answered: four are kept, and the others told', async () => {
  const uris = Array.from({ length: 300 }, (_, at) => `/${at}`)
  const replies = [started, finished(uris), film(), film(), film(), film()]
  const { code, out, err, files } = await runGiven(savingX, ...replies)
  expect([code, out]).toEqual([0, 'x.mp4\nx-2.mp4\nx-3.mp4\nx-4.mp4\n'])
  expect(files()).toEqual(['x-2.mp4', 'x-3.mp4', 'x-4.mp4', 'x.mp4'])
  expect(err).toContain('warning: 300 videos received, 1 requested; the first 4 are kept.')
})
