import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { callsFolder } from '../../../src/files/calls/call-book.ts'
import type { CallFacts, CallWords } from '../../../src/files/calls/call-record.ts'
import { CallReader } from '../../../src/files/calls/read-calls.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { json, sse } from '../../support/server-replies.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'

const png = pngBytes({ width: 2, height: 2 })
const digestOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** All facts and words of the calls, the newest first. */
function callsIn(folder: string): (CallFacts & CallWords)[] {
  return [...new CallReader(folder).calls()].map(({ facts, words }) => ({ ...facts, ...words() }))
}

/** A home with a space in its name and a picture in its working folder, and a sandbox to call. */
async function place(env: Record<string, string> = {}) {
  const { url } = await runningSandbox()
  const home = join(temporaryFolder(), 'a home')
  const cwd = join(home, 'work')
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'in.png'), png)
  const folder = callsFolder(join(home, '.local/state/modelgate'))
  const overrides: TestOverrides = {
    home,
    cwd,
    env: { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'some-key-0123', ...env },
    clock: { ...fakeClock(), ...systemClock },
  }
  const entries = () => callsIn(folder).toReversed()
  return {
    url,
    home,
    cwd,
    folder,
    entries,
    run: (words: readonly string[], more: TestOverrides = {}) => runMain(words, { ...overrides, ...more }),
    /** The entry of one call. */
    async entryOf(words: readonly string[], more: TestOverrides = {}): Promise<CallFacts & CallWords> {
      const result = await runMain(words, { ...overrides, ...more })
      const all = entries()
      if (all.length !== 1) throw new Error(`${all.length} entries.\n${result.err}`)
      return all[0]!
    },
  }
}

test('a text call is in the log, with what a conversation goes on from', async () => {
  const { entryOf, cwd, url } = await place()
  const entry = await entryOf(['generate', '-m', 'sandbox-text', 'Hello'])
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
    arguments: ['generate', '-m', 'sandbox-text', 'Hello'],
    prompt: 'Hello',
    request: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    reply: { text, content: { role: 'model', parts: [{ text }] } },
  })
})

test('an image: what was created, which file it is in, and no copy of it', async () => {
  const { entryOf, cwd } = await place()
  const words = ['image', 'create', '-m', 'image-model-a', '--size', '1024x1024', '--quality', 'low']
  const entry = await entryOf([...words, '--sidecar', '-o', 'boat.png', 'A boat'])
  const bytes = readFileSync(join(cwd, 'boat.png'))
  expect(entry).toMatchObject({
    command: 'image create',
    model: 'image-model-a',
    created: { images: { count: 1, size: '1024x1024', quality: 'low' } },
    prompt: 'A boat',
    request: { model: 'image-model-a', prompt: 'A boat', size: '1024x1024', quality: 'low' },
  })
  expect(entry.files).toEqual([
    {
      path: join(cwd, 'boat.png'),
      bytes: bytes.length,
      sha256: digestOf(bytes),
      format: 'png',
      width: 1024,
      height: 1024,
    },
  ])
  expect(JSON.stringify(entry)).not.toContain(bytes.toString('base64').slice(0, 40))
})

test('media in a body are references to the files that they came from', async () => {
  const { entryOf, cwd } = await place()
  const large = Buffer.concat([png, Buffer.alloc(1000, 7)])
  writeFileSync(join(cwd, 'one.png'), large)
  writeFileSync(join(cwd, 'two.png'), Buffer.concat([large, Buffer.from('!')]))
  const words = ['generate', '-m', 'sandbox-text', '-a', 'two.png', '-a', 'one.png', '-a', 'in.png', 'What?']
  const entry = await entryOf(words)
  const [two, one] = [readFileSync(join(cwd, 'two.png')), large]
  expect(entry.inputs).toEqual([
    { path: join(cwd, 'two.png'), bytes: two.length },
    { path: join(cwd, 'one.png'), bytes: one.length },
  ])
  expect(JSON.stringify(entry)).not.toContain(large.toString('base64').slice(0, 200))
})

test.each<[string, readonly string[], string | undefined, string]>([
  ['as it was typed', ['generate', "It's"], undefined, "modelgate generate 'It'\\''s'"],
  ['with a long word', ['generate', 'a'.repeat(3000)], undefined, `modelgate generate ${'a'.repeat(3000)}`],
  ['that needs its input again', ['generate', 'Hi'], 'a diff', 'modelgate generate Hi < INPUT'],
])('a call is repeated by a line %s', async (_, words, stdin, line) => {
  const { run, cwd } = await place({ MODELGATE_TEXT_MODEL: 'sandbox-text' })
  await run(words, stdin === undefined ? {} : { stdin })
  const { out } = await run(['log', 'show'])
  expect(out).toContain(`\nagain\t${line}\n`)
  const elsewhere = await run(['log', '--json'], { cwd: temporaryFolder() })
  expect(JSON.parse(elsewhere.out)).toMatchObject({ calls: [{ again: `cd '${cwd}' && ${line}` }] })
})

test.each([
  ['metadata', ['generate', 'Hi']],
  [
    'full',
    ['image', 'edit', '--image', `data:image/png;base64,${png.toString('base64')}`, '-o', 'a.png', 'Hi'],
  ],
])('no line repeats a call that is not kept whole (history: %s)', async (history, words) => {
  const { run } = await place({ MODELGATE_TEXT_MODEL: 'sandbox-text', MODELGATE_HISTORY: history })
  await run(words)
  const { out } = await run(['log', 'show', '--json'])
  expect(JSON.parse(out)).toMatchObject({ call: { again: null } })
})

test('a video job, and the wait for it', async () => {
  const { run, entries, cwd } = await place()
  const { out } = await run('video generate -m sandbox-video --no-wait --duration-seconds 4 Boat'.split(' '))
  const id = out.trim()
  await run(['video', 'status', '--last'])
  await run(['wait', '--last', '--poll-interval', '0.1', '-o', 'v.mp4'])
  expect(entries()).toMatchObject([
    {
      command: 'video generate',
      created: { job: id, video_seconds: 4 },
      files: [],
    },
    {
      command: 'wait',
      jobs: [id],
      files: [{ path: join(cwd, 'v.mp4'), format: 'mp4', seconds: expect.any(Number) }],
    },
  ])
  expect(entries()[1]).not.toHaveProperty('request')
  expect(entries()[1]).not.toHaveProperty('created')
})

test('calls that failed are in the log, unless nothing was sent', async () => {
  const { run, entries } = await place()
  await run(['respond', 'sandbox:refusal'])
  const server = await localServer([
    json({ error: { code: 400, message: 'No such model.' } }, { status: 400 }),
  ])
  await run(['generate', '-m', 'm', '--base-url', server.url, 'Hello'])
  await run(['generate', '-m', 'm', '--base-url', 'http://127.0.0.1:9', '--max-retries', '0', 'Hello'])
  expect(entries()).toMatchObject([
    { exit_code: 9, error: { code: 'content_refused', billed: 'yes' } },
    { exit_code: 4, error: { message: expect.stringContaining('No such model.'), billed: 'no' } },
  ])
})

test('a gateway that breaks off: what came is kept as a part', async () => {
  const { folder, run } = await place()
  const chunk = '{"candidates":[{"content":{"role":"model","parts":[{"text":"Half of"}]}}]}'
  const server = await localServer([sse([`data: ${chunk}\n\n`], { ending: 'cut' })])
  const { code } = await run(['generate', '-m', 'm', '--base-url', server.url, '--max-retries', '0', 'Hello'])
  expect(code).toBe(7)
  const [entry] = callsIn(folder)
  expect(entry).toMatchObject({
    exit_code: 7,
    error: { billed: 'maybe' },
    reply: { text: 'Half of', is_partial: true },
  })
})

test.each<[string, readonly string[]]>([
  ['a dry run', ['generate', '-m', 'm', '--dry-run', 'Hello']],
  ['a mistake', ['generate', '-m', 'm', '--no-such', 'Hello']],
  ['a list of models', ['models']],
  ['a missing file', ['generate', '-m', 'm', '-a', 'none.png', 'Hello']],
])('%s is not in the log', async (_, words) => {
  const { run, home } = await place()
  await run(words)
  expect(readdirSync(home)).toEqual(['work'])
})

test.each([{ CI: 'true' }, { MODELGATE_HISTORY: 'metadata' }, { MODELGATE_HISTORY: 'off' }])(
  'with %j neither words nor request nor reply are kept',
  async (env) => {
    const { entryOf, folder } = await place(env)
    const entry = await entryOf(['generate', '-m', 'sandbox-text', 'Hello'])
    for (const name of ['arguments', 'read_stdin', 'prompt', 'request', 'reply'])
      expect(entry).not.toHaveProperty(name)
    expect(entry).toMatchObject({ command: 'generate', model: 'sandbox-text', exit_code: 0 })
    expect(existsSync(join(folder, 'words'))).toBe(false)
  },
)

test('a log that cannot be written is one warning, and nothing else', async () => {
  const { run, home, folder } = await place()
  mkdirSync(join(home, '.local/state'), { recursive: true })
  writeFileSync(join(home, '.local/state/modelgate'), '')
  const { code, err } = await run(['generate', '-m', 'sandbox-text', 'Hello'])
  expect([code, err]).toEqual([
    0,
    `warning: The call is not in the log: "${join(folder, 'version')}" cannot be read: a part of its path is a file, not a folder.\n`,
  ])
  expect((await run(['generate', '-q', '-m', 'sandbox-text', 'Hello'])).err).toBe('')
})
