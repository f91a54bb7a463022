import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { openLog } from '../../../src/files/log/log-file.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'
import { canaryKey } from '../../support/canary-key.ts'

const picture = Buffer.concat([pngBytes({ width: 2, height: 2 }), Buffer.alloc(500, 7)])

/** A sandbox to call, a folder to work in, and a program whose calls must succeed. */
async function place(more: TestOverrides = {}) {
  const sandbox = await runningSandbox()
  const home = temporaryFolder()
  const cwd = join(home, 'a folder')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'in.png'), picture)
  const env = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_API_KEY: canaryKey(),
    MODELGATE_TEXT_MODEL: 'sandbox-text',
  }
  const overrides: TestOverrides = { home, cwd, env, clock: { ...fakeClock(), ...systemClock }, ...more }
  const run = (words: readonly string[], other: TestOverrides = {}) =>
    runMain(words, { ...overrides, ...other })
  return {
    sandbox,
    cwd,
    run,
    async ok(...words: string[]) {
      const result = await run(words)
      if (result.code !== 0) throw new Error(`${words.join(' ')}: ${result.err}`)
      return result
    },
    /** What would be sent. */
    async dryRun(...words: string[]): Promise<Json> {
      const { code, out, err } = await run([...words, '--dry-run'])
      if (code !== 0) throw new Error(err)
      return JSON.parse(out) as Json
    },
    files: () => readdirSync(cwd).toSorted(),
    newest: () => [...openLog(join(home, '.local/state/modelgate/log')).calls()][0]!.entry(),
  }
}

test('the same request is sent once more, with an idempotency key of its own', async () => {
  const { ok, dryRun, newest } = await place()
  const first = await dryRun(
    'respond',
    'Name three rivers',
    '--temperature',
    '0.5',
    '--metadata',
    '{"a":"b"}',
  )
  await ok('respond', 'Name three rivers', '--temperature', '0.5', '--metadata', '{"a":"b"}')
  const { id } = newest()
  const again = await dryRun('again')
  expect(again.body).toEqual(first.body)
  expect(again.headers['idempotency-key']).not.toBe(first.headers['idempotency-key'])
  expect((await ok('again')).out).toContain('Name three rivers')
  expect(newest()).toMatchObject({
    command: 'respond',
    repeats: id,
    arguments: ['again'],
    prompt: 'Name three rivers',
  })
})

test('what came from standard input is a part of the request', async () => {
  const { run, dryRun } = await place()
  await run(['generate', 'Summarise'], { stdin: 'Rivers flow.' })
  const { body } = await dryRun('again')
  expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Rivers flow.\n\nSummarise' }] }])
})

test('flags change the request: any of the command', async () => {
  const { ok, dryRun } = await place()
  await ok('image', 'create', '-m', 'image-model-a', '--size', '1024x1024', 'A boat')
  await ok('generate', '--system', 'Be brief', '--temperature', '0.5', 'Hello')
  expect((await dryRun('again', '2', '--size', '1024x1536', '-n', '2')).body).toEqual({
    model: 'image-model-a',
    prompt: 'A boat',
    size: '1024x1536',
    n: 2,
  })
  expect((await dryRun('again', '2', '-m', 'image-model-a-mini')).body.model).toBe('image-model-a-mini')
  expect(
    (await dryRun('again', '-m', 'other', '--set', 'labels={"a":"b"}', '--temperature=1')).body,
  ).toMatchObject({
    systemInstruction: { parts: [{ text: 'Be brief' }] },
    generationConfig: { temperature: 1 },
    labels: { a: 'b' },
  })
  expect((await dryRun('again', '-m', 'other')).url).toContain('/models/other:')
})

test.each<[string, readonly string[], readonly string[], (body: Json) => unknown]>([
  ['a text', ['generate', 'Hello'], ['Bye', 'now'], (body) => body.contents],
  ['an input', ['respond', 'Hello'], ['Bye', 'now'], (body) => body.input],
  ['an image', ['image', 'create', '-m', 'image-model-a', 'Hello'], ['Bye', 'now'], (body) => body.prompt],
])('another prompt takes the place of that of %s', async (_, words, prompt, read) => {
  const { ok, dryRun } = await place()
  await ok(...words)
  const { body } = await dryRun('again', '1', ...prompt)
  expect(JSON.stringify(read(body))).toContain('Bye now')
  expect(JSON.stringify(body)).not.toContain('Hello')
})

test('another prompt needs no number', async () => {
  const { ok, dryRun } = await place()
  await ok('respond', 'Hello')
  expect((await dryRun('again', 'Bye')).body.input).toBe('Bye')
  expect((await dryRun('again', '1', '7')).body.input).toBe('7')
})

test('an earlier name gets a number, so that nothing is overwritten', async () => {
  const { ok, files } = await place()
  const words = ['image', 'create', '-m', 'image-model-a', '-n', '2', '-o', 'boat.png', 'A boat']
  await ok(...words)
  const { err } = await ok('again')
  expect(err).toContain('modelgate: boat.png exists already; the result goes to boat-2.png.\n')
  await ok('again')
  expect(files()).toEqual([
    'boat-1.png',
    'boat-2-1.png',
    'boat-2-2.png',
    'boat-2.png',
    'boat-3-1.png',
    'boat-3-2.png',
    'in.png',
  ])
})

test('the file of a text gets a number, too; -o and --force have their usual meaning', async () => {
  const { ok, run, files, cwd } = await place()
  await ok('respond', '-o', 'a.txt', 'Hello')
  await ok('again')
  expect(files()).toEqual(['a-2.txt', 'a.txt', 'in.png'])
  await ok('again', '2', '-o', 'b.txt')
  expect(files()).toEqual(['a-2.txt', 'a.txt', 'b.txt', 'in.png'])
  writeFileSync(join(cwd, 'a.txt'), 'old')
  await ok('again', '3', '--force')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toContain('Hello')
  expect(await run(['again', '-o', 'b.txt'])).toMatchObject({ code: 10 })
})

test('media are read again', async () => {
  const { ok, run, dryRun, cwd } = await place()
  await ok('generate', '-a', 'in.png', 'What?')
  const { body } = await dryRun('again')
  expect(body.contents[0].parts[0].inlineData.data).toBe(picture.toString('base64'))
  writeFileSync(join(cwd, 'in.png'), 'other')
  expect(await run(['again'])).toMatchObject({
    code: 10,
    err: expect.stringContaining(`The call contains "${join(cwd, 'in.png')}", which has changed since.`),
  })
  rmSync(join(cwd, 'in.png'))
  expect(await run(['again'])).toMatchObject({ code: 10, err: expect.stringContaining('does not exist') })
})

test('the pictures of an edit are sent again, unless others are given', async () => {
  const { ok, run, dryRun, cwd, newest } = await place()
  await ok('image', 'edit', '-m', 'image-model-a', '--image', 'in.png', '-o', 'out.png', 'Red')
  const paths = (request: Json) => request.parts.flatMap(({ path }: Json) => path ?? [])
  expect(paths(await dryRun('again'))).toEqual([join(cwd, 'in.png')])
  expect(paths(await dryRun('again', '--image', 'out.png'))).toEqual(['out.png'])
  writeFileSync(join(cwd, 'in.png'), 'other')
  const { code, err } = await run(['again'])
  expect([code, err]).toEqual([10, expect.stringContaining('in.png", has changed since.')])
  expect(err).not.toContain('the result goes to')
  await ok('again', '--image', 'out.png')
  expect(newest().files[0]?.path).toBe(join(cwd, 'out-2.png'))
})

test('a picture of a video that is replaced need not be there any more', async () => {
  const { ok, run, dryRun, cwd } = await place()
  writeFileSync(join(cwd, 'first.png'), picture)
  await ok('video', 'generate', '-m', 'sandbox-video', '--no-wait', '--image', 'first.png', 'A boat')
  rmSync(join(cwd, 'first.png'))
  expect(await run(['again'])).toMatchObject({ code: 10 })
  const { body } = await dryRun('again', '--image', 'in.png')
  expect(body.instances).toEqual([
    { prompt: 'A boat', image: { bytesBase64Encoded: picture.toString('base64'), mimeType: 'image/png' } },
  ])
})

test('a remix is of the same video', async () => {
  const { ok, dryRun, sandbox } = await place()
  await ok('video', 'remix', '-m', 'video-model-remix', '--no-wait', 'video_sandbox_source', 'Make it night')
  const { url, body } = await dryRun('again', '1', 'Make it day')
  expect(url).toBe(`${sandbox.url}/v1/videos/video_sandbox_source/remix`)
  expect(body).toEqual({ model: 'video-model-remix', prompt: 'Make it day' })
})

test('a job is a new job', async () => {
  const { ok } = await place()
  const first = await ok('respond', '--background', 'Hello')
  const second = await ok('again')
  expect(second.out).not.toBe(first.out)
})

test('a call of the sandbox stays there, unless it is sent to the gateway on purpose', async () => {
  const { ok, dryRun, sandbox } = await place()
  await ok('generate', '--sandbox', 'Hello')
  expect((await dryRun('again')).url).not.toContain(sandbox.url)
  expect((await dryRun('again', '--no-sandbox', '-m', 'real')).url).toBe(
    `${sandbox.url}/v1beta/models/real:streamGenerateContent?alt=sse`,
  )
})

test('the schema is checked again', async () => {
  const { ok, dryRun, newest } = await place()
  const schema = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}'
  await ok('respond', '--schema', schema, 'Hello')
  const { body } = await dryRun('again')
  expect(body.text.format).toMatchObject({ type: 'json_schema', schema: JSON.parse(schema) })
  expect(newest().repeat).toEqual(['respond', '--schema', schema])
})

test.each<[string, readonly string[], Record<string, string>, readonly string[], string]>([
  [
    'recorded without its request',
    ['generate', 'Hello'],
    { MODELGATE_HISTORY: 'metadata' },
    ['again'],
    'The call 1 (generate) was recorded without its request (history: metadata).\n  hint: To keep the requests of later calls, set history: full, or MODELGATE_HISTORY=full.',
  ],
  [
    'not there',
    ['generate', 'Hello'],
    {},
    ['again', '2'],
    'There is no call 2 in the log. The log has 1 call.',
  ],
  [
    'named after its flags',
    ['generate', 'Hello'],
    {},
    ['again', '--temperature', '1', '1'],
    'The number of the call comes before the flags: modelgate again 1 …',
  ],
  [
    'changed by a flag of another command',
    ['generate', 'Hello'],
    {},
    ['again', '--size', '1x1'],
    "unknown option '--size'",
  ],
])('a call is not repeated that is %s', async (_, words, env, again, message) => {
  const { run, sandbox } = await place()
  const base = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_API_KEY: canaryKey(),
    MODELGATE_TEXT_MODEL: 'sandbox-text',
  }
  await run(words, { env: { ...base, ...env } })
  const { code, err, out } = await run(again)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
})

test('a wait for a job has nothing to repeat', async () => {
  const { ok, run } = await place()
  const { out } = await ok('respond', '--background', 'Hello')
  await ok('response', 'wait', '--last', '--poll-interval', '0.1')
  const { code, err } = await run(['again'])
  expect(code).toBe(2)
  expect(err).toContain('The call 1 (response wait) sent no request that could be sent again.')
  expect(err).toContain(out.trim())
})

test('on a terminal it is told what is repeated', async () => {
  const { ok, run } = await place()
  await ok('respond', 'Hello')
  const { err } = await run(['again'], { terminal: true })
  expect(err).toContain('modelgate: again respond, 0 s ago: "Hello"\n')
})

test.each<[string, (path: string) => void, string]>([
  ['a pipe', (path) => execFileSync('mkfifo', [path]), 'is not a regular file'],
  ['a device', (path) => symlinkSync('/dev/zero', path), 'is not a regular file'],
  [
    'a file without an end',
    (path) => (writeFileSync(path, ''), truncateSync(path, 1e13)),
    'has changed since',
  ],
  ['an empty file', (path) => writeFileSync(path, ''), 'has changed since'],
])('%s in the place of an image that was sent is not read', async (_, put, problem) => {
  const { ok, run, cwd } = await place()
  await ok('image', 'edit', '-m', 'gpt-image-2', '--image', 'in.png', 'more', '-o', 'out.png')
  await ok('respond', '-a', 'in.png', 'What is it?')
  const path = join(cwd, 'in.png')
  rmSync(path)
  put(path)
  const attached = await run(['again', '1', '--dry-run'])
  const edited = await run(['again', '2', '--dry-run'])
  expect([attached.code, edited.code]).toEqual([10, 10])
  expect(edited.err).toContain(problem)
})
