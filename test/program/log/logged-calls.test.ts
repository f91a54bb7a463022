import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callsFolder } from '../../../src/files/calls/call-book.ts'
import { CallReader } from '../../../src/files/calls/read-calls.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { json, sse } from '../../support/server-replies.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { workspaceAt } from '../workspace.ts'

const png = pngBytes({ width: 2, height: 2 })
const hello = ['generate', '-m', 'sandbox-text', 'Hello']

/** A machine with a picture, and a sandbox to call. */
async function place(env: Readonly<Record<string, string>> = {}) {
  const { url } = await runningSandbox()
  const { run, ...workspace } = workspaceAt({ url })
  writeFiles(workspace.cwd, { 'in.png': png })
  const folder = callsFolder(workspace.state)
  /** All facts and words of the calls, the oldest first. */
  const entries = () =>
    [...new CallReader(folder).calls()].map(({ facts, words }) => ({ ...facts, ...words() })).toReversed()
  const ownRun = (words: readonly string[], more = {}) => run(words, { env, ...more })
  return {
    ...workspace,
    url,
    folder,
    entries,
    run: ownRun,
    async entryOf(words: readonly string[]) {
      await ownRun(words)
      expect(entries().length).toBe(1)
      return entries()[0]!
    },
  }
}

test('a text call is in the log, with what a conversation goes on from', async () => {
  const { entryOf, cwd, url } = await place()
  const entry = await entryOf(hello)
  const { text } = entry.reply as { text: string }
  expect(text).toContain('Hello')
  expect(entry).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{16}$/),
    at: expect.any(String),
    type: 'end',
    check: expect.any(String),
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    duration_ms: expect.any(Number),
    command: 'generate',
    cwd,
    origin: url,
    model: 'sandbox-text',
    exit_code: 0,
    finish_reason: 'stop',
    usage: {
      input_tokens: expect.any(Number),
      cached_tokens: 0,
      output_tokens: expect.any(Number),
      reasoning_tokens: null,
      total_tokens: expect.any(Number),
    },
    files: [],
    arguments: hello,
    prompt: 'Hello',
    request: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    reply: { text, content: { role: 'model', parts: [{ text }] } },
  })
})

test('an image: what was created, which file it is in, and no copy of it', async () => {
  const { entryOf, cwd, read } = await place()
  const words = ['image', 'create', '-m', 'image-model-a', '--size', '1024x1024', '--quality', 'low']
  const entry = await entryOf([...words, '--sidecar', '-o', 'boat.png', 'A boat'])
  expect(entry).toMatchObject({
    command: 'image create',
    model: 'image-model-a',
    created: { images: { count: 1, size: '1024x1024', quality: 'low' } },
    prompt: 'A boat',
    request: { model: 'image-model-a', prompt: 'A boat', size: '1024x1024', quality: 'low' },
  })
  const bytes = read('boat.png')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const path = join(cwd, 'boat.png')
  const size = { width: 1024, height: 1024 }
  expect(entry.files).toEqual([{ path, bytes: bytes.length, sha256, format: 'png', ...size }])
  expect(JSON.stringify(entry)).not.toContain(bytes.toString('base64').slice(0, 40))
})

test('media in a body are references to the files that they came from', async () => {
  const { entryOf, cwd } = await place()
  const one = Buffer.concat([png, Buffer.alloc(1000, 7)])
  const two = Buffer.concat([one, Buffer.from('!')])
  writeFiles(cwd, { 'one.png': one, 'two.png': two })
  const words = ['-a', 'two.png', '-a', 'one.png', '-a', 'in.png', 'What?']
  const entry = await entryOf(['generate', '-m', 'sandbox-text', ...words])
  expect(entry.inputs).toEqual([
    { path: join(cwd, 'two.png'), bytes: two.length },
    { path: join(cwd, 'one.png'), bytes: one.length },
  ])
  expect(JSON.stringify(entry)).not.toContain(one.toString('base64').slice(0, 200))
})

test.each([
  ['as it was typed', ['generate', "It's"], {}, "modelgate generate 'It'\\''s'"],
  ['with a long word', ['generate', 'a'.repeat(3000)], {}, `modelgate generate ${'a'.repeat(3000)}`],
  ['that needs its input again', ['generate', 'Hi'], { stdin: 'a diff' }, 'modelgate generate Hi < INPUT'],
])('a call is repeated by a line %s', async (_, words, stdin, line) => {
  const { run, home } = await place({ MODELGATE_TEXT_MODEL: 'sandbox-text' })
  const cwd = join(home, 'a folder')
  mkdirSync(cwd)
  await run(words, { cwd, ...stdin })
  expect((await run(['log', 'show'], { cwd })).out).toContain(`\nagain\t${line}\n`)
  const elsewhere = JSON.parse((await run(['log', '--json'])).out)
  expect(elsewhere).toMatchObject({ calls: [{ again: `cd '${cwd}' && ${line}` }] })
})

const data = `data:image/png;base64,${png.toString('base64')}`

test.each([
  ['metadata', ['generate', 'Hi']],
  ['full', ['image', 'edit', '--image', data, '-o', 'a.png', 'Hi']],
])('no line repeats a call that is not kept whole (history: %s)', async (history, words) => {
  const { run } = await place({ MODELGATE_TEXT_MODEL: 'sandbox-text', MODELGATE_HISTORY: history })
  await run(words)
  expect(JSON.parse((await run(['log', 'show', '--json'])).out)).toMatchObject({ call: { again: null } })
})

test('a video job, and the wait for it', async () => {
  const { run, entries, cwd } = await place()
  const { out } = await run('video generate -m sandbox-video --no-wait --duration-seconds 4 Boat'.split(' '))
  await run(['video', 'status', '--last'])
  await run(['wait', '--last', '-o', 'v.mp4'])
  const file = { path: join(cwd, 'v.mp4'), format: 'mp4', seconds: expect.any(Number) }
  expect(entries()).toMatchObject([
    { command: 'video generate', created: { job: out.trim(), video_seconds: 4 }, files: [] },
    { command: 'wait', jobs: [out.trim()], files: [file] },
  ])
  expect(entries()[1]).not.toHaveProperty('request')
  expect(entries()[1]).not.toHaveProperty('created')
})

test('calls that failed are in the log, with a part of what came', async () => {
  const { run, entries } = await place()
  await run(['respond', 'sandbox:refusal'])
  const chunk = '{"candidates":[{"content":{"role":"model","parts":[{"text":"Half of"}]}}]}'
  const { url } = await localServer([
    json({ error: { code: 400, message: 'No such model.' } }, { status: 400 }),
    sse([`data: ${chunk}\n\n`], { ending: 'cut' }),
  ])
  for (const _ of [400, 200])
    await run(['generate', '-m', 'm', '--base-url', url, '--max-retries', '0', 'Hello'])
  expect(entries()).toMatchObject([
    { exit_code: 9, error: { code: 'content_refused', billed: 'yes' } },
    { exit_code: 4, error: { message: expect.stringContaining('No such model.'), billed: 'no' } },
    { exit_code: 7, error: { billed: 'maybe' }, reply: { text: 'Half of', is_partial: true } },
  ])
})

test.each([
  ['a dry run', 'generate -m m --dry-run Hello'],
  ['a mistake', 'generate -m m --no-such Hello'],
  ['a list of models', 'models'],
  ['a missing file', 'generate -m m -a none.png Hello'],
])('%s is not in the log', async (_, words) => {
  const { run, home } = await place()
  await run(words.split(' '))
  expect(readdirSync(home)).toEqual(['project'])
})

test.each([{ CI: 'true' }, { MODELGATE_HISTORY: 'metadata' }, { MODELGATE_HISTORY: 'off' }])(
  'with %j neither words nor request nor reply are kept',
  async (env) => {
    const { entryOf, folder } = await place(env)
    const entry = await entryOf(hello)
    for (const name of ['arguments', 'read_stdin', 'prompt', 'request', 'reply'])
      expect(entry).not.toHaveProperty(name)
    expect(entry).toMatchObject({ command: 'generate', model: 'sandbox-text', exit_code: 0 })
    expect(existsSync(join(folder, 'words'))).toBe(false)
  },
)

test('a log that cannot be written is one warning, and nothing else', async () => {
  const { run, state, folder } = await place()
  mkdirSync(join(state, '..'), { recursive: true })
  writeFileSync(state, '')
  const problem = `"${join(folder, 'version')}" cannot be read: a part of its path is a file, not a folder.`
  expect(await run(hello)).toMatchObject({
    code: 0,
    err: `warning: The call is not in the log: ${problem}\n`,
  })
  expect((await run([...hello, '-q'])).err).toBe('')
})
