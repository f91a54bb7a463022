import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { localServer } from '../support/local-server.ts'
import { memorySink } from '../support/memory-sink.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const clock = () => fakeClock({ start: Date.parse('2026-11-22T12:00:00Z') })
const run = (...argv: string[]) => runMain(['models', ...argv], { clock: clock() })
const at = (url: string) => ({
  clock: clock(),
  cwd: temporaryFolder(),
  env: { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'test-key' },
})

test('in a pipe a line has id, kind, family, retirement, source and limits, separated by tabs', async () => {
  const { code, out, err } = await run('--known')
  expect([code, err]).toEqual([0, ''])
  const lines = out.split('\n')
  const limits =
    'size: 256x256, 512x512, 1024x1024; quality: auto, standard; n: 1 to 10; prompt: at most 1000'
  expect(lines).toContain(`dall-e-2\timage\timage-model-b\t2026-05-12\tbuilt-in\t${limits} characters`)
  expect(lines).toContain('gemini-2.5-pro\t\t\t2026-12-01\tbuilt-in\t')
  expect(out).toMatch(/^gpt-image-2\timage\tgpt-image-2\t\tbuilt-in\t/m)
  expect(out).toMatch(/^sora-2\t/m)
  // Names of families are no models.
  expect(out).not.toMatch(/^\S*-model-/m)
})

test('all limits of one model are names and values', async () => {
  const { out } = await run('dall-e-3')
  expect(out.split('\n').slice(0, 6)).toEqual([
    'id\tdall-e-3',
    'kind\timage',
    'family\timage-model-c: second legacy image model',
    'known from\tbuilt-in',
    'retires\t2026-05-12 (past; your gateway may still serve it)',
    'image create: prompt\tat most 4000 characters',
  ])
  for (const limit of ['background\tnot taken', 'n\tonly 1', 'style\tvivid, natural'])
    expect(out).toContain(`\nimage create: ${limit}\n`)
})

test('an unknown model has the rules for every model, and the nearest known one', async () => {
  const { code, out } = await run('openai/gpt-image-2')
  expect(code).toBe(0)
  expect(out.split('\n').slice(0, 5)).toEqual([
    'id\topenai/gpt-image-2',
    'family\tnone: only the rules for every model are checked',
    'nearest\tgpt-image-2',
    'image create: prompt\tat most 32000 characters',
    'image create: n\t1 to 10',
  ])
  expect(out).not.toMatch(/size|quality|style/)
  expect((await run('dalle-3')).out).toContain('nearest\tdall-e-3\n')
  expect((await run('qwen-vl-max')).out).not.toContain('nearest')
})

test.each([
  [40, 'ID'],
  [60, 'ID                              RETIRES'],
  [80, 'ID                              KIND   FAMILY              RETIRES'],
  [120, 'ID                              KIND   FAMILY              RETIRES          FROM      LIMITS'],
])('on a terminal of %i columns the table has what fits', async (columns, heading) => {
  const stdout = memorySink({ isTerminal: true, columns })
  const { out } = await runMain(['models', '--known'], { stdout, clock: clock() })
  const lines = out.trimEnd().split('\n')
  expect(lines[0]).toBe(heading)
  expect(lines.filter((line) => line.length > columns)).toEqual([])
  expect(lines.length).toBeGreaterThan(11)
})

test('--json has the limits as numbers and words', async () => {
  const { out } = await run('gpt-image-2-2026-04-21', '--json')
  const document = JSON.parse(out)
  expect(document).toMatchObject({ version: 1, command: 'models', gateway: null, warnings: [] })
  const [model] = document.models
  expect(model).toMatchObject({ id: 'gpt-image-2-2026-04-21', family: 'gpt-image-2', retires: null })
  const create = model.endpoints.find(({ command }: { command: string }) => command === 'image create')
  const size = { multiple_of: 16, max_ratio: 3, max_edge: 3840, min_pixels: 655360, max_pixels: 8294400 }
  const limit = { field: 'size', taken: true, values: ['auto'], size, min: null, max: null, max_length: null }
  expect(create.limits).toContainEqual(limit)
})

test('models of the configuration come first, with the families they have there', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'families: { fast: gpt-image-2, odd: none }\n' })
  const { out } = await runMain(['models', '--known'], { cwd })
  expect(out).toMatch(/^fast\timage\tgpt-image-2\t\tconfiguration\t.*\nodd\t\t\t\tconfiguration\t/)
})

describe('the gateway', () => {
  const list = (url: string) => runMain(['models'], at(url))

  test('lists the models of the gateway, with what is known of each', async () => {
    const sandbox = await runningSandbox()
    const { code, out } = await list(sandbox.url)
    expect(code).toBe(0)
    expect(out).toMatch(/^sandbox-text\t\t\t\t\t/m)
    expect(out).toMatch(/^dall-e-2\timage\timage-model-b\t2026-05-12\tbuilt-in\t/m)
    expect(sandbox.requests().map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /v1/models'])
  })

  test('asks for the pages of Google’s form where the gateway has that one only', async () => {
    const model = (name: string, method: string) => ({ name, supportedGenerationMethods: [method] })
    const server = await localServer([
      json({ error: { message: 'no such path' } }, { status: 404 }),
      json({ models: [model('models/gem', 'generateContent')], nextPageToken: 'p 2' }),
      json({ models: [model('models/veo', 'predictLongRunning')] }),
    ])
    const out = 'gem\ttext\t\t\t\t\nveo\tvideo\t\t\t\t\n'
    expect(await list(server.url)).toMatchObject({ code: 0, out })
    expect(server.requests.map(({ line }) => line.split(' ')[1])).toEqual([
      '/v1/models',
      '/v1beta/models',
      '/v1beta/models?pageToken=p+2',
    ])
  })

  test('asks for the pages of OpenAI’s form', async () => {
    const server = await localServer([
      json({ data: [{ id: 'a' }, { id: 'b' }], has_more: true, last_id: 'b' }),
      json({ data: [{ id: 'c' }], has_more: false, last_id: 'c' }),
    ])
    expect((await list(server.url)).out.replaceAll('\t', '')).toBe('a\nb\nc\n')
    expect(server.requests[1]!.line).toBe('GET /v1/models?after=b HTTP/1.1')
  })

  test('ends where a gateway sends the same page again', async () => {
    const page = json({ data: [{ id: 'a' }], has_more: true, last_id: 'a' })
    const server = await localServer([page, page])
    const { code, out, err } = await list(server.url)
    expect([code, out.trimEnd()]).toEqual([0, 'a'])
    expect(err).toBe('warning: The gateway lists more models than are shown.\n')
  })

  test('a gateway without a list, one with another reply, and one that refuses the key', async () => {
    const missing = json({ error: { message: 'Invalid URL' } }, { status: 404 })
    const none = await localServer([missing, missing])
    expect(await list(none.url)).toMatchObject({
      code: 0,
      out: expect.stringContaining('gpt-image-2\t') as string,
      err: 'warning: The gateway does not list its models: these are those that are known here.\n',
    })
    const odd = await localServer([json({ hello: 'world' })])
    expect(await list(odd.url)).toMatchObject({ code: 8, out: '' })
    const key = await localServer([json({ error: { message: 'bad key' } }, { status: 401 })])
    expect(await list(key.url)).toMatchObject({ code: 3, out: '' })
  })

  test('names with control characters stay in their cell', async () => {
    const server = await localServer([json({ data: [{ id: 'a\tb\n\u001b[31mred' }] })])
    const { out } = await list(server.url)
    expect(out.split('\t')).toHaveLength(6)
    expect(out).not.toContain('\u001b')
  })
})

test('where no gateway is set up, those that are known are shown, and that is said', async () => {
  const err = 'warning: No gateway is set up: these are the models that are known here.\n'
  expect(await run()).toMatchObject({ code: 0, out: (await run('--known')).out, err })
})

test.each([
  ...['--raw', '--dry-run', '--curl'].flatMap((flag) => [
    ['--known', flag, `${flag} shows what the gateway is asked, and with --known it is not.`],
    ['gpt-image-2', flag, `${flag} shows what the gateway is asked, and with an id it is not.`],
  ]),
  ['list', '-q', 'modelgate models lists them: leave out "list".'],
  ['ls', '-q', 'modelgate models lists them: leave out "ls".'],
])('models %s %s is refused: %s', async (word, flag, message) => {
  expect(await run(word!, flag!)).toMatchObject({ code: 2, out: '', err: `modelgate: ${message}\n` })
})
