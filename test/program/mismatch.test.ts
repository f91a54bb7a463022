import { expect, test } from 'vitest'
import { encodePng } from '../../src/files/codecs.ts'
import { testPicture } from '../support/test-images.ts'
import { runGiven } from './images/image-run.ts'
import { images } from './images/replies.ts'
import { film, finished, given, savingX, started } from './videos/video-replies.ts'

/** What a gateway sends that drops all fields but the prompt: an opaque PNG. */
const opaque = Buffer.from(await encodePng(testPicture(64, 64, () => 255)))
const kite = ['create', '-m', 'gpt-image-2', '--background', 'transparent', 'A kite']
const webp = [...kite, '-o', 'a.webp']

test('an image that is not what was asked for is kept and told, exit 12', async () => {
  const { code, out, err, files } = await runGiven(webp, images(opaque))
  expect([code, out, files()]).toEqual([12, 'a.webp\n', ['a.webp']])
  expect(err).toContain('a.webp came with output_format png instead of webp.')
  expect(err).toContain('a.webp came with background opaque instead of transparent.')
  expect(err).toContain('--accept-mismatch')
  const { out: json } = await runGiven([...webp, '--json'], images(opaque))
  expect(JSON.parse(json)).toMatchObject({
    mismatches: [
      { index: 1, field: 'output_format', asked: 'webp', came: 'png' },
      { index: 1, field: 'background', asked: 'transparent', came: 'opaque' },
    ],
  })
})

test('--accept-mismatch takes an image as it is', async () => {
  const { code, err } = await runGiven([...webp, '--accept-mismatch'], images(opaque))
  expect([code, err]).toEqual([0, expect.not.stringContaining('instead of')])
})

test('what goes to standard output is compared, too', async () => {
  const { code, bytes, err } = await runGiven([...kite, '-o', '-'], images(opaque))
  expect([code, bytes.equals(opaque)]).toEqual([12, true])
  expect(err).toContain('The image came with background opaque instead of transparent.')
})

test('a video that is not what was asked for is kept and told, exit 12, each time that it is waited for', async () => {
  const job = [started, finished(['/1.mp4']), film()]
  const { run, files } = await given(...job, ...job)
  const long = [...savingX, '--duration-seconds', '8']
  const { code, err } = await run(long)
  expect([code, files()]).toEqual([12, ['x.mp4']])
  expect(err).toMatch(/x\.mp4 came with durationSeconds [\d.]+ instead of 8\./)
  expect((await run(['wait', '--last'])).code).toBe(12)
  expect((await run(['wait', '--last', '--accept-mismatch'])).code).toBe(0)
  expect((await run([...long, '--force', '--accept-mismatch'])).code).toBe(0)
})
