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
  operation,
  otherClip,
  started,
  given,
  savingX,
} from './video-replies.ts'

const huge = mp4Bytes({ width: 1280, height: 720 }, Buffer.alloc(500_000, 3))

test.skipIf(!canMount)(
  'the video for which there is no space is rescued, and the others are saved',
  async () => {
    const { cwd, run, home, records } = await given(
      started,
      finished(['/1', '/2', '/3']),
      film(clip),
      film(huge),
      film(otherClip),
    )
    mountTmpfs(join(cwd, 'out'), 64)
    const words = [...generate, '--set', 'parameters.sampleCount=3', '--wait', '-o', 'out/x.mp4', '--json']
    const { code, out } = await run(words)
    expect(code).toBe(12)
    const document = JSON.parse(out)
    const paths = document.files.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(['out/x-1.mp4', 'out/x-3.mp4'])
    const rescued = expect.stringMatching(/^\/.*\/rescued\/\d{8}T\d{6}-x-2\.mp4$/)
    const message = expect.stringMatching(
      /^"out\/x-2\.mp4" cannot be written: there is no space left\. It is kept in /,
    )
    expect(document.failures).toEqual([{ index: 2, code: 'no_space', message, rescued }])
    const state = join(home, '.local/state/modelgate')
    expect(rescuedIn(state)).toEqual(new Map([['x-2.mp4', huge]]))
    const [record] = await records()
    expect(record!.files).toEqual(paths.map((path: string) => join(cwd, path)))
    expect(record!.result).toBeUndefined()
  },
)

test.skipIf(!canMount)(
  'the only video for which there is no space is rescued, and can be fetched again',
  async () => {
    const { cwd, run, home } = await given(started, finished(['/1']), film(huge))
    mountTmpfs(join(cwd, 'out'), 64)
    const { code, out, err } = await run([...generate, '--wait', '-o', 'out/x.mp4'])
    expect([code, out]).toEqual([10, ''])
    expect(err).toMatch(
      /^modelgate: "out\/x\.mp4" cannot be written: there is no space left\. It is kept in "\/.*-x\.mp4" instead\.$/m,
    )
    expect(err).toContain(`to fetch it again: modelgate wait ${operation}`)
    expect(rescuedIn(join(home, '.local/state/modelgate'))).toEqual(new Map([['x.mp4', huge]]))
  },
)

test('one video asked and 300 answered: four are kept, and the others told', async () => {
  const uris = Array.from({ length: 300 }, (_, at) => `/${at}`)
  const { run, files } = await given(started, finished(uris), film(), film(), film(), film())
  const { code, out, err } = await run(savingX)
  const names = ['x.mp4', 'x-2.mp4', 'x-3.mp4', 'x-4.mp4']
  expect([code, out]).toEqual([0, `${names.join('\n')}\n`])
  expect(files().toSorted()).toEqual(names.toSorted())
  expect(err).toContain('warning: 300 videos received, 1 requested; the first 4 are kept.')
})
