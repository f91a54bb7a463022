import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { json, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { startProgram } from './start-program.ts'
import { film, finished, started } from './videos/video-replies.ts'

const answer = json({
  id: 'resp_1',
  status: 'completed',
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
})

async function bench(v1: readonly ServerReply[], v1beta: readonly ServerReply[]) {
  const [one, two] = [await localServer(v1), await localServer(v1beta)]
  const home = temporaryFolder()
  const roots = `base_urls: { v1: "${one.url}/openai/v1", v1beta: "${two.url}/google/v1beta" }`
  writeFiles(home, { '.config/modelgate/config.yaml': roots })
  const run = async (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const program = startProgram(words, { home, env: { MODELGATE_API_KEY: 'key-0123456789', ...env } })
    const code = await program.passWaits()
    return { code, out: program.context.stdout.text, err: program.context.stderr.text }
  }
  const paths = ({ requests }: typeof one) => requests.map(({ line }) => line.split(/[ ?]/)[1])
  return { one, two, home, roots, run, paths }
}

test('each style has its root, its key and its downloads, and a job is on record where it was started', async () => {
  const { one, two, run, paths } = await bench(
    [answer],
    [started, finished(['/v1beta/files/f:download']), film()],
  )
  expect((await run(['respond', '--no-stream', 'Hi'])).code).toBe(0)
  expect((await run(['video', 'generate', '-m', 'veo', '--no-wait', 'A boat'])).code).toBe(0)
  const [job] = (JSON.parse((await run(['jobs', '--json'])).out) as { jobs: { base_url: string }[] }).jobs
  expect(job?.base_url).toBe(`${two.url}/google`)
  const { code, err } = await run(['wait', '--last', '-o', 'x.mp4'])
  expect([code, err]).toEqual([0, expect.any(String)])
  expect(paths(one)).toEqual(['/openai/v1/responses'])
  expect(paths(two)).toEqual([
    '/google/v1beta/models/veo:predictLongRunning',
    expect.stringMatching(/^\/google\/v1beta\/models\/.*\/operations\//),
    '/v1beta/files/f:download',
  ])
  expect(new Set(two.requests.map(({ headers }) => headers['authorization']))).toEqual(
    new Set(['Bearer key-0123456789']),
  )
})

test('a nearer base URL stands for both', async () => {
  const { one, run, paths } = await bench([answer], [])
  expect((await run(['respond', '--no-stream', '--base-url', one.url, 'Hi'])).code).toBe(0)
  const dry = await run(['generate', '-m', 'm', '--dry-run', 'Hi'], {
    MODELGATE_BASE_URL: 'https://a.example',
  })
  expect(dry.out).toContain('https://a.example/v1beta/models/m:streamGenerateContent')
  expect(paths(one)).toEqual(['/v1/responses'])
})

test('both origins of a project file need to be trusted, and one source has either', async () => {
  const { home, one, roots, run } = await bench([], [])
  writeFiles(home, { '.config/modelgate/config.yaml': 'quiet: false', 'project/.modelgaterc': roots })
  const trusted = await run(['respond', 'Hi'], { MODELGATE_TRUSTED_ORIGINS: one.url })
  expect([trusted.code, trusted.err]).toEqual([2, expect.stringContaining('which you have not trusted')])
  writeFiles(home, { 'project/.modelgaterc': `base_url: ${one.url}\n${roots}` })
  const both = await run(['respond', 'Hi'])
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('base_url and base_urls')])
})
