import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { json, sse, type ServerReply } from '../support/server-replies.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { film, finished, started } from './videos/video-replies.ts'
import { workspaceAt } from './workspace.ts'

const content = [{ type: 'output_text', text: 'Hi' }]
const answer = json({ id: 'resp_1', status: 'completed', output: [{ type: 'message', content }] })
const respond = ['respond', '--no-stream', 'Hi']

async function bench(v1: readonly ServerReply[], v1beta: readonly ServerReply[]) {
  const [one, two] = [await localServer(v1), await localServer(v1beta)]
  const { run, home, key } = workspaceAt(one)
  const roots = `base_urls: { v1: "${one.url}/openai/v1", v1beta: "${two.url}/google/v1beta" }`
  writeFiles(home, { '.config/modelgate/config.yaml': roots })
  const paths = ({ requests }: typeof one) => requests.map(({ line }) => line.split(/[ ?]/)[1])
  const ownRun = (words: readonly string[], env = {}) =>
    run(words, { env: { MODELGATE_BASE_URL: '', ...env } })
  return { one, two, home, roots, run: ownRun, paths, key }
}

test('each style has its root, its key and its downloads, and a job is on record where it was started', async () => {
  const job = [started, finished(['/v1beta/files/f:download']), film()]
  const { one, two, run, paths, key } = await bench([answer], job)
  expect((await run(respond)).code).toBe(0)
  expect((await run(['video', 'generate', '-m', 'veo', '--no-wait', 'A boat'])).code).toBe(0)
  const { out } = await run(['jobs', '--json'])
  expect(JSON.parse(out)).toMatchObject({ jobs: [{ base_url: `${two.url}/google` }] })
  expect((await run(['wait', '--last', '-o', 'x.mp4'])).code).toBe(0)
  expect(paths(one)).toEqual(['/openai/v1/responses'])
  expect(paths(two)).toEqual([
    '/google/v1beta/models/veo:predictLongRunning',
    expect.stringMatching(/^\/google\/v1beta\/models\/.*\/operations\//),
    '/v1beta/files/f:download',
  ])
  const keys = two.requests.map(({ headers }) => headers['authorization'])
  expect(new Set(keys)).toEqual(new Set([`Bearer ${key}`]))
})

test('a conversation continues at the root of its style', async () => {
  const said = { content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }
  const reply = sse([JSON.stringify({ candidates: [said] })])
  const { two, run } = await bench([], [reply, reply])
  expect((await run(['generate', '-m', 'm', 'Hi'])).code).toBe(0)
  expect(await run(['generate', '-c', 'More'])).toMatchObject({
    code: 0,
    err: expect.stringContaining('continuing'),
  })
  expect(two.requests).toHaveLength(2)
})

test('a nearer base URL stands for both', async () => {
  const { one, run, paths } = await bench([answer], [])
  expect((await run([...respond, '--base-url', one.url])).code).toBe(0)
  expect(paths(one)).toEqual(['/v1/responses'])
  const nearer = { MODELGATE_BASE_URL: 'https://a.example' }
  const { out } = await run(['generate', '-m', 'm', '--dry-run', 'Hi'], nearer)
  expect(out).toContain('https://a.example/v1beta/models/m:streamGenerateContent')
})

test('both origins of a project file need to be trusted, and one source has either', async () => {
  const { home, one, roots, run } = await bench([], [])
  writeFiles(home, { '.config/modelgate/config.yaml': 'quiet: false', 'project/.modelgaterc': roots })
  const trusted = await run(respond, { MODELGATE_TRUSTED_ORIGINS: one.url })
  expect([trusted.code, trusted.err]).toEqual([2, expect.stringContaining('which you have not trusted')])
  writeFiles(home, { 'project/.modelgaterc': `base_url: ${one.url}\n${roots}` })
  const both = await run(respond)
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('base_url and base_urls')])
})
