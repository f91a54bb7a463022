import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { json, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { images, red } from './images/replies.ts'
import { startProgram } from './start-program.ts'
import { film, finished, started } from './videos/video-replies.ts'

const answer = json({
  id: 'resp_1',
  status: 'completed',
  output: [
    { type: 'message', content: [{ type: 'output_text', text: 'openai says: tenant-blue-0123456789' }] },
  ],
})
const models = json({ data: [{ id: 'm' }] })
const token = 'tenant-blue-0123456789'
const env = {
  MODELGATE_API_KEY: 'key-0123456789',
  MODELGATE_HEADERS: 'x-provider: openai\nx-tenant: env:TENANT',
  TENANT: token,
}

async function at(replies: readonly ServerReply[]) {
  const server = await localServer(replies)
  const home = temporaryFolder()
  const run = async (words: readonly string[], more: Readonly<Record<string, string | undefined>> = {}) => {
    const program = startProgram(words, { home, env: { MODELGATE_BASE_URL: server.url, ...env, ...more } })
    const code = await program.passWaits()
    return { code, out: program.context.stdout.text, err: program.context.stderr.text }
  }
  const sent = () => server.requests.map(({ headers }) => [headers['x-provider'], headers['x-tenant']])
  return { server, home, run, sent }
}

/** No file below the folder holds the text. */
function expectAbsent(folder: string, text: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), 'latin1')).not.toContain(text)
  expect(files.length).toBeGreaterThan(0)
}

const both = ['openai', token]

test.each<[string, readonly ServerReply[], readonly string[]]>([
  ['respond', [answer], ['respond', '--no-stream', 'Hi']],
  ['models', [models], ['models']],
  ['doctor', [models], ['doctor']],
  [
    'image create, and the download from the gateway',
    [images({ url: '/a.png' }), film(red)],
    ['image', 'create', 'x'],
  ],
  [
    'video generate, its look-ups and its download',
    [started, finished(['/1.mp4']), film()],
    ['video', 'generate', '-m', 'veo', '--wait', '--poll-interval', '0.1', 'x'],
  ],
])('headers are sent by every request of %s', async (_, replies, words) => {
  const { run, sent } = await at(replies)
  const { code, err } = await run(words)
  expect([code, err]).toEqual([0, expect.any(String)])
  expect(new Set(sent().map((pair) => pair.join()))).toEqual(new Set([both.join()]))
  expect(sent().length).toBeGreaterThanOrEqual(words[0] === 'image' ? 2 : 1)
})

test('another origin gets none of them, also behind a redirect, but those that are for it', async () => {
  const files = await localServer([film(red)])
  const { run, sent, home } = await at([images({ url: `${files.url}/a.png` })])
  writeFiles(home, {
    '.config/modelgate/config.yaml': `download_headers: { "${new URL(files.url).origin}": { X-Files: open } }`,
  })
  expect((await run(['image', 'create', 'x'])).code).toBe(0)
  expect(sent()).toEqual([both])
  const [{ headers } = { headers: {} as Record<string, string> }] = files.requests
  expect([headers['x-provider'], headers['x-tenant'], headers['x-files']]).toEqual([
    undefined,
    undefined,
    'open',
  ])
})

test('a value is hidden by its place, and a word such as openai stays in answers', async () => {
  const { run, home } = await at([answer])
  const words = ['respond', '--no-stream', '--header', 'x-own: plain-word', '--debug', 'Hi']
  const { out, err } = await run(words)
  expect(out).toContain('openai says')
  expect(err).toContain('> x-provider: <hidden>')
  expect(err).toContain('> x-own: <hidden>')
  for (const secret of [token, 'plain-word']) expect(err).not.toContain(secret)
  const log = await run(['log', 'show'])
  expect(log.out).toContain("--header 'x-own: <value>'")
  expect(log.out).toContain('openai says: [hidden]')
  expectAbsent(home, token)
})

test('a dry run shows where a value comes from, and leaves one that is written out to fill in', async () => {
  const { run } = await at([])
  const words = ['respond', '--header', 'x-own: plain', '--header', 'x-file: @token', 'Hi']
  const { out } = await run([...words, '--dry-run'])
  expect(JSON.parse(out)).toMatchObject({ headers: { 'x-own': '<value>', 'x-tenant': 'env:TENANT' } })
  const curl = (await run([...words, '--curl'])).out
  expect(curl).toContain("-H 'x-own: <value>'")
  expect(curl).toContain('-H "x-tenant: $TENANT"')
  expect(curl).toMatch(/-H "x-file: \$\(cat '.*\/token'\)"/)
})

test('Authorization stands in for a key, and not beside one', async () => {
  const { run, server } = await at([answer])
  const words = ['respond', '--no-stream', '--header', 'Authorization: Basic abc', 'Hi']
  const refused = await run(words)
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('cannot be used together')])
  const { code } = await run(words, { MODELGATE_API_KEY: undefined })
  expect([code, server.requests[0]?.headers['authorization']]).toEqual([0, 'Basic abc'])
})
