import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { json, text, type ServerReply, type Step } from '../../support/server-replies.ts'
import {
  clip,
  film,
  finished,
  generate,
  operation,
  otherClip,
  started,
  given,
  runGiven,
  savingX,
} from './video-replies.ts'
import type { VideoWorkspace } from './video-run.ts'

/** Another video of the same size. */
const sameSize = Buffer.from(clip).fill(9, 100, 200)
const several = ['generate', '-m', 'veo', '--sample-count', '2', '--wait', '-o', 'x.mp4', 'A boat']
const missing = text('{"error":{"message":"Nothing here."}}', { status: 404 })
/** An operation is asked for as a video, too. */
const forgotten: readonly ServerReply[] = [missing, missing]

/** A machine on which a job's two videos have been saved, and what the gateway answers afterwards. */
async function savedTwo(...later: ServerReply[]) {
  const { server, ...workspace } = await given(
    started,
    finished(['/1.mp4', '/2.mp4']),
    film(),
    film(otherClip),
    ...later,
  )
  const first = await workspace.run([...several, '--json'])
  expect(first.code).toBe(0)
  return { workspace, server, first: JSON.parse(first.out) as Record<string, unknown> }
}

/** The same with one video, whose name is x.mp4. */
async function savedOne(...later: ServerReply[]) {
  const { server, ...workspace } = await given(started, finished(['/a.mp4']), film(), ...later)
  expect((await workspace.run(savingX)).code).toBe(0)
  return { workspace, server }
}

describe('a wait for videos that are there', () => {
  test('tells their files, and asks nobody', async () => {
    const { workspace } = await savedTwo()
    const { code, out, err } = await workspace.run(['wait', operation])
    expect([code, out]).toEqual([0, 'x-1.mp4\nx-2.mp4\n'])
    expect(err).toContain('The 2 videos were saved earlier, and no gateway was contacted')
    expect((await workspace.run(['status', '--last', '--wait'])).out).toBe('x-1.mp4\nx-2.mp4\n')
    expect((await workspace.run(['wait', operation, '--quiet'])).err).toBe('')
  })

  test('needs no key', async () => {
    const { workspace } = await savedOne()
    const { code, out } = await workspace.run(['wait', '--last'], { env: { MODELGATE_API_KEY: undefined } })
    expect([code, out]).toEqual([0, 'x.mp4\n'])
  })

  test('gives the same document again', async () => {
    const { workspace, first } = await savedTwo()
    const { code, out } = await workspace.run(['wait', operation, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({ ...first, command: 'wait' })
    expect(JSON.parse((await workspace.run(['wait', operation, '--raw'])).out)).toEqual(first['operation'])
    const lines = (await workspace.run(['wait', operation, '--jsonl'])).out.trim().split('\n')
    const events = lines.map((line) => JSON.parse(line) as { type: string })
    expect(events.map(({ type }) => type)).toEqual(['start', 'video-save', 'video-save', 'end'])
  })

  test('keeps pictures and the key out of the record', async () => {
    const base64 = clip.toString('base64')
    const value = (key: string) => ({
      name: operation,
      done: true,
      note: `for ${key}`,
      response: { generateVideoResponse: { generatedSamples: [{ video: { encodedVideo: base64 } }] } },
    })
    const reply: Step[] = []
    const workspace = await given(started, reply)
    reply.push(...json(value(workspace.key)))
    await workspace.run(generate)
    // The run itself looks for the key in everything that is written.
    expect((await workspace.run(['wait', '--last', '-o', 'x.mp4'])).code).toBe(0)
    expect(JSON.stringify(await workspace.records())).not.toContain(base64.slice(0, 40))
    const { code, out } = await workspace.run(['wait', '--last', '--json'])
    const { files, operation: again } = JSON.parse(out)
    expect([code, files.length, again.note]).toEqual([0, 1, 'for [hidden]'])
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
  test.for<[string, (workspace: VideoWorkspace) => void, string]>([
    ['when a file has gone', ({ cwd }) => rmSync(join(cwd, 'x.mp4')), 'x.mp4\n'],
    ['when a file has grown', ({ cwd }) => appendFileSync(join(cwd, 'x.mp4'), 'more'), 'x-2.mp4\n'],
    [
      'when a file has become another video',
      ({ cwd }) => writeFileSync(join(cwd, 'x.mp4'), otherClip),
      'x-2.mp4\n',
    ],
    [
      'when a file of the same size has been damaged',
      ({ cwd }) => writeFileSync(join(cwd, 'x.mp4'), Buffer.alloc(clip.length)),
      'x-2.mp4\n',
    ],
    [
      'when a file has become another video of the same size',
      ({ cwd }) => writeFileSync(join(cwd, 'x.mp4'), sameSize),
      'x-2.mp4\n',
    ],
  ])('%s', async ([, change, name]) => {
    const { workspace } = await savedOne(finished(['/a.mp4']), film())
    change(workspace)
    expect(await workspace.run(['wait', '--last'])).toMatchObject({ code: 0, out: name })
    // And not once more.
    expect((await workspace.run(['wait', '--last'])).out).toContain(name)
  })

  test('with --force, which overwrites', async () => {
    const { workspace } = await savedOne(finished(['/a.mp4']), film(otherClip))
    expect(await workspace.run(['wait', '--last', '--force'])).toMatchObject({ code: 0, out: 'x.mp4\n' })
    expect(workspace.read('x.mp4').equals(otherClip)).toBe(true)
  })

  test('for another place, and still knows the first', async () => {
    const { workspace } = await savedOne(finished(['/a.mp4']), film())
    expect((await workspace.run(['wait', '--last', '-o', 'y.mp4'])).out).toBe('y.mp4\n')
    expect((await workspace.run(['wait', '--last'])).out).toBe('x.mp4\n')
  })

  test('and says what it knows when the gateway has forgotten the job', async () => {
    const { workspace } = await savedOne(...forgotten)
    rmSync(join(workspace.cwd, 'x.mp4'))
    const { code, out, err } = await workspace.run(['wait', '--last'])
    expect([code, out]).toEqual([4, ''])
    expect(err).toContain(`What was saved of it: ${join(workspace.cwd, 'x.mp4')}.`)
  })

  test('and says where a copy is when the video has expired', async () => {
    const gone = text('{"error":{"message":"Gone."}}', { status: 410 })
    const { workspace } = await savedOne(finished(['/a.mp4']), gone, finished(['/a.mp4']), gone)
    const { code, err } = await workspace.run(['wait', '--last', '-o', 'y.mp4'])
    expect(code).toBe(4)
    expect(err).toContain('has expired')
    expect(err).toContain(`What was saved of it: ${join(workspace.cwd, 'x.mp4')}.`)
  })
})

describe('status of a job that the gateway has forgotten', () => {
  // It was started or running a moment ago, and is looked up three times more.

  test('tells the last known state, and fails all the same', async () => {
    const { workspace } = await savedOne(...forgotten)
    const { code, out, err } = await workspace.run(['status', '--last'])
    expect(code).toBe(4)
    expect(out).toContain(`id        ${operation}\n`)
    expect(out).toContain('state     completed\n')
    expect(err).toContain('has no status of the operation')
    expect(err).toContain(`What was saved of it: ${join(workspace.cwd, 'x.mp4')}.`)
  })
})
