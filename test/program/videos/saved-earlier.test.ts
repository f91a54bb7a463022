import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { json, text, type ServerReply, type Step } from '../../support/server-replies.ts'
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

const done = finished(['/a.mp4'])
const gone = text('{"error":{"message":"Gone."}}', { status: 410 })
const missing = text('{"error":{"message":"Nothing here."}}', { status: 404 })
const again = ['wait', '--last']

/** A machine on which the video of a job has been saved as x.mp4, and what the gateway answers afterwards. */
async function saved(...later: ServerReply[]) {
  const workspace = await given(started, done, film(), ...later)
  const { code, out } = await workspace.run([...savingX, '--json'])
  expect(code).toBe(0)
  return { ...workspace, path: join(workspace.cwd, 'x.mp4'), first: JSON.parse(out) as { operation: object } }
}

describe('a wait for a video that is there', () => {
  test('tells its file, asks nobody, and needs no key', async () => {
    const { run } = await saved()
    const { code, out, err } = await run(again, { env: { MODELGATE_API_KEY: undefined } })
    expect([code, out]).toEqual([0, 'x.mp4\n'])
    expect(err).toContain('The video was saved earlier, and no gateway was contacted')
    expect((await run(['status', '--last', '--wait'])).out).toBe('x.mp4\n')
    expect((await run([...again, '--quiet'])).err).toBe('')
  })

  test('gives the same document again', async () => {
    const { run, first } = await saved()
    const { code, out } = await run([...again, '--json'])
    expect([code, JSON.parse(out)]).toEqual([0, { ...first, command: 'wait' }])
    expect(JSON.parse((await run([...again, '--raw'])).out)).toEqual(first.operation)
    const lines = (await run([...again, '--jsonl'])).out.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: 'start' },
      { type: 'video-save' },
      { type: 'end' },
    ])
  })

  test('keeps pictures and the key out of the record', async () => {
    const base64 = clip.toString('base64')
    const response = { generateVideoResponse: { generatedSamples: [{ video: { encodedVideo: base64 } }] } }
    const reply: Step[] = []
    const { run, key, records } = await given(started, reply)
    reply.push(...json({ name: operation, done: true, note: `for ${key}`, response }))
    await run(generate)
    // The run itself looks for the key in everything that is written.
    expect((await run([...again, '-o', 'x.mp4'])).code).toBe(0)
    expect(JSON.stringify(await records())).not.toContain(base64.slice(0, 40))
    expect(JSON.parse((await run([...again, '--json'])).out)).toMatchObject({
      files: [{}],
      operation: { note: 'for [hidden]' },
    })
  })
})

test('a reply that cannot be put on record does not fail its video', async () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000)
  const samples = '{"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"/a.mp4"}}]}}'
  const reply = text(`{"name":"${operation}","done":true,"response":${samples},"more":${deep}}`)
  const { code, out, err } = await runGiven(savingX, started, reply, film())
  expect([code, out]).toEqual([0, 'x.mp4\n'])
  expect(err).toContain('The record of the job cannot be kept up to date')
})

describe('a wait asks the gateway again', () => {
  test.each<[string, (path: string) => void, string]>([
    ['has gone', rmSync, 'x.mp4\n'],
    ['has grown', (path) => appendFileSync(path, 'more'), 'x-2.mp4\n'],
    ['has become another video', (path) => writeFileSync(path, otherClip), 'x-2.mp4\n'],
    [
      'of the same size has become another',
      (path) => writeFileSync(path, Buffer.from(clip).fill(9, 100, 200)),
      'x-2.mp4\n',
    ],
  ])('when a file %s', async (_, change, name) => {
    const { run, path } = await saved(done, film())
    change(path)
    expect(await run(again)).toMatchObject({ code: 0, out: name })
    // And not once more.
    expect((await run(again)).out).toContain(name)
  })

  test('with --force, which overwrites', async () => {
    const { run, read } = await saved(done, film(otherClip))
    expect(await run([...again, '--force'])).toMatchObject({ code: 0, out: 'x.mp4\n' })
    expect(read('x.mp4').equals(otherClip)).toBe(true)
  })

  test('for another place, and still knows the first', async () => {
    const { run } = await saved(done, film())
    expect((await run([...again, '-o', 'y.mp4'])).out).toBe('y.mp4\n')
    expect((await run(again)).out).toBe('x.mp4\n')
  })
})

// An operation is asked for as a video, too.
test.each([
  ['its status is forgotten', ['status', '--last'], [missing, missing], 'has no status of the operation'],
  ['the job is forgotten', [...again, '-o', 'y.mp4'], [missing, missing], 'has no status of the operation'],
  ['the video has expired', [...again, '-o', 'y.mp4'], [done, gone, done, gone], 'has expired'],
])('where %s, what is known is said, and where the file is', async (_, words, replies, says) => {
  const { run, path } = await saved(...replies)
  const { code, out, err } = await run(words)
  expect(code).toBe(4)
  expect(err).toContain(says)
  expect(err).toContain(`What was saved of it: ${path}.`)
  // The last known state.
  expect(out).toMatch(
    words[0] === 'status' ? /^id +models\/veo\/operations\/op-0123\n[^]*^state +completed$/m : /^$/,
  )
})
