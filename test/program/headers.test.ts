import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { json, type ServerReply } from '../support/server-replies.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { file, images, red } from './images/replies.ts'
import { film, finished, started } from './videos/video-replies.ts'
import { answeredBy } from './workspace.ts'

const content = [{ type: 'output_text', text: 'openai says: tenant-blue-0123456789' }]
const answer = json({ id: 'resp_1', status: 'completed', output: [{ type: 'message', content }] })
const models = json({ data: [{ id: 'm' }] })
const token = 'tenant-blue-0123456789'
const env = { MODELGATE_HEADERS: 'x-provider: openai\nx-tenant: env:TENANT', TENANT: token }
const respond = ['respond', '--no-stream', 'Hi']
const create = ['image', 'create', 'x']

/** A machine with two headers for its gateway. */
async function given(...replies: readonly ServerReply[]) {
  const { server, run, ...workspace } = await answeredBy().given(...replies)
  return {
    ...workspace,
    server,
    run: (words: readonly string[], more = {}) => run(words, { env: { ...env, ...more } }),
    /** Of all requests, each pair once. */
    sent: () =>
      new Set(server.requests.map(({ headers }) => `${headers['x-provider']} ${headers['x-tenant']}`)),
  }
}

test.each<[string, readonly string[], ...ServerReply[]]>([
  ['respond', respond, answer],
  ['models', ['models'], models],
  ['doctor', ['doctor'], models],
  ['image create, and the download from the gateway', create, images({ url: '/a.png' }), file(red)],
  [
    'video generate, its look-ups and its download',
    ['video', 'generate', '-m', 'veo', '--wait', 'x'],
    started,
    finished(['/1.mp4']),
    film(),
  ],
])('headers are sent by every request of %s', async (_, words, ...replies) => {
  const { run, sent } = await given(...replies)
  expect((await run(words)).code).toBe(0)
  expect(sent()).toEqual(new Set([`openai ${token}`]))
})

test('another origin gets none of them, but those that are for it', async () => {
  const files = await localServer([file(red)])
  const { run, home } = await given(images({ url: `${files.url}/a.png` }))
  const own = `download_headers: { "${files.url}": { X-Files: open } }`
  writeFiles(home, { '.config/modelgate/config.yaml': own })
  expect((await run(create)).code).toBe(0)
  const { headers } = files.requests[0]!
  expect(headers).toMatchObject({ 'x-files': 'open' })
  expect(headers).not.toHaveProperty('x-provider')
  expect(headers).not.toHaveProperty('x-tenant')
})

test('a value is hidden by its place, and a word such as openai stays in answers', async () => {
  const { run, home } = await given(answer)
  const { out, err } = await run([...respond, '--header', 'x-own: plain-word', '--debug'])
  expect(out).toContain('openai says')
  expect(err).toContain('> x-provider: <hidden>')
  expect(err).toContain('> x-own: <hidden>')
  expect(err).not.toMatch(/tenant-blue-0123456789|plain-word/)
  const log = await run(['log', 'show'])
  expect(log.out).toContain("--header 'x-own: <value>'")
  expect(log.out).toContain('openai says: [hidden]')
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(files.length).toBeGreaterThan(0)
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), 'latin1')).not.toContain(token)
})

test('a dry run shows where a value comes from, and leaves one that is written out to fill in', async () => {
  const { run } = await given()
  const words = ['respond', '--header', 'x-own: plain', '--header', 'x-file: @token', 'Hi']
  const { out } = await run([...words, '--dry-run'])
  expect(JSON.parse(out)).toMatchObject({ headers: { 'x-own': '<value>', 'x-tenant': 'env:TENANT' } })
  const curl = (await run([...words, '--curl'])).out
  expect(curl).toContain("-H 'x-own: <value>'")
  expect(curl).toContain('-H "x-tenant: $TENANT"')
  expect(curl).toMatch(/-H "x-file: \$\(cat '.*\/token'\)"/)
})

test('Authorization stands in for a key, and not beside one', async () => {
  const { run, server } = await given(answer)
  const words = [...respond, '--header', 'Authorization: Basic abc']
  const refused = await run(words)
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('cannot be used together')])
  expect((await run(words, { MODELGATE_API_KEY: undefined })).code).toBe(0)
  expect(server.requests[0]?.headers['authorization']).toBe('Basic abc')
})
