import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { main } from '../../../src/main.ts'
import { inOrder, kindOf } from '../../../src/commands/init/answers.ts'
import { canaryKey, expectNoKey } from '../../support/canary-key.ts'
import { configPlace, type ConfigPlaceContent } from '../../support/config-place.ts'
import { closedPort, localServer } from '../../support/local-server.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { json, readAll, stall, text } from '../../support/server-replies.ts'
import { questionTerminal } from '../../support/question-terminal.ts'
import { testContext } from '../../support/test-context.ts'
import { until as untilSome } from '../../support/until.ts'

/** `modelgate init` without a terminal, in a home of its own. */
async function init(argv: readonly string[], content: ConfigPlaceContent = {}) {
  const place = configPlace(content)
  const { stdin } = content
  const { code, out, err } = await runMain(['init', ...argv], {
    home: place.home,
    cwd: place.project,
    ...(stdin !== undefined && { stdin }),
  })
  const folder = join(place.home, '.config/modelgate')
  const read = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  const [config, credentials] = [read('config.yaml'), read('credentials.json')]
  return { place, code, out: place.scrub(out), err: place.scrub(err), config, credentials, folder }
}

/** The flags that a call without questions needs. */
const answers = (url: string, ...more: string[]) => ['--base-url', url, '--api-key-file', '-', ...more]

const comment = '# Settings of modelgate. All there are: modelgate config list --all\n\n'

test('address, key and models go where later calls find them', async () => {
  const sandbox = await runningSandbox()
  const key = canaryKey()
  const argv = answers(`${sandbox.url}/v1/`, '--text-model', 'sandbox-text')
  const { code, out, err, config, credentials, folder } = await init(argv, { stdin: ` ${key}\n` })
  expect(code).toBe(0)
  expect(config).toBe(`${comment}base_url: ${sandbox.url}\ntext_model: sandbox-text\n`)
  expect(JSON.parse(credentials!)).toEqual({ profiles: { default: { api_key: key } } })
  expect(statSync(join(folder, 'credentials.json')).mode & 0o777).toBe(0o600)
  expect(out).toBe(`Written:
  ~/.config/modelgate/config.yaml       base_url, text_model
  ~/.config/modelgate/credentials.json  the key, readable only by you

Try next:
  modelgate generate "Name three rivers"      words as they arrive
  git diff | modelgate respond "Review this"  piped text, then the prompt
  modelgate chat                              a conversation
`)
  expect(err).toMatch(/^ {2}The gateway accepts the key; it lists \d+ models\.\n$/)
  expectNoKey('the output', out + err, key)
})

test('what nobody can be asked for is named with its flag', async () => {
  const { code, err, folder } = await init([])
  expect({ code, err }).toEqual({
    code: 2,
    err: `modelgate: The address of the gateway is missing: pass --base-url URL.
modelgate: The key is missing: pass --api-key-file FILE, or - to store the one on standard input.
  hint: On a terminal, modelgate init asks for it. With --yes the key may be left to MODELGATE_API_KEY.
`,
  })
  expect(existsSync(folder)).toBe(false)
})

const served = async (...reply: Parameters<typeof text>) => (await localServer([text(...reply)])).url

test.each<[string, number, string, () => Promise<string>]>([
  ['refuses the key', 3, 'The gateway refused the key (HTTP 401)', async () => (await runningSandbox()).url],
  ['is not there', 6, '(ECONNREFUSED)', async () => `http://127.0.0.1:${await closedPort()}`],
  ['is a web page', 8, 'answers, but not as a gateway does', () => served('<html>Hello</html>')],
  ['is out of order', 5, 'HTTP 503', () => served('{}', { status: 503 })],
  ['has clear text', 2, 'would send the key to a.test in clear text', async () => 'http://a.test'],
  ['is no address', 2, 'must start with https:// or http://', async () => 'gateway.example'],
])('nothing is written for a gateway that %s', async (_, exit, message, start) => {
  const { code, err, folder } = await init(answers(await start()), { stdin: 'invalid' })
  expect([code, err, existsSync(folder)]).toEqual([exit, expect.stringContaining(message), false])
})

test('a gateway that says nothing is waited for 15 seconds', async () => {
  const server = await localServer([[readAll, stall]])
  const place = configPlace()
  const ended = main(['init', '--yes', '--base-url', server.url], place.context)
  while (server.received === 0) await place.context.clock.advance(0)
  await place.context.clock.advance(15_000)
  expect(await ended).toBe(5)
  expect(place.context.stderr.text).toContain('15 s')
  expect(existsSync(join(place.home, '.config'))).toBe(false)
})

test('a gateway without a list of models is taken', async () => {
  const missing = text('{"error":{"message":"no such path"}}', { status: 404 })
  const server = await localServer([missing, missing, missing, missing])
  const { code, out, err, config } = await init(answers(server.url, '--json'), { stdin: 'some-key' })
  expect([code, err]).toEqual([0, '  The gateway lists no models, so the key could not be checked.\n'])
  expect(JSON.parse(out)).toMatchObject({ gateway: 'lists none' })
  expect(config).toBe(`${comment}base_url: ${server.url}\n`)
})

test('--no-check writes what nobody has tried', async () => {
  const argv = ['--no-check', '--base-url', 'https://gateway.example/v1', '--api-key-file', 'key.txt']
  const { code, config } = await init(argv, { files: { 'project/key.txt': 'some-key' } })
  expect(code).toBe(0)
  expect(config).toContain('base_url: https://gateway.example\napi_key_file: ')
  expect(config).toContain('/project/key.txt\n')
})

test('--json tells what was set', async () => {
  const sandbox = await runningSandbox()
  const argv = answers(sandbox.url, '--json', '--image-model', 'gpt-image-2')
  const { out } = await init(argv, { stdin: 'key-with-1234' })
  expect(JSON.parse(out)).toMatchObject({
    command: 'init',
    profile: 'default',
    base_url: sandbox.url,
    gateway: 'lists',
    key: { last_four: '1234' },
    models: { text: null, image: 'gpt-image-2', video: null },
    changed: ['base_url', 'image_model'],
    warnings: [],
  })
})

const written = `# mine
base_url: https://old.example # the old one
timeout: 60

profiles:
  # the other
  work:
    base_url: https://work.example
    text_model: work-model
`

test('running it again changes what is answered and nothing else', async () => {
  const sandbox = await runningSandbox()
  const argv = ['--yes', '--base-url', sandbox.url, '--text-model', 'new-model']
  const { code, config, out } = await init(argv, { user: written })
  expect([code, out]).toEqual([0, expect.stringContaining('base_url, text_model')])
  expect(config).toBe(written.replace('https://old.example', sandbox.url).concat('text_model: new-model\n'))
})

test('a profile is changed, or made, beside the others', async () => {
  const sandbox = await runningSandbox()
  const change = ['--yes', '--base-url', sandbox.url, '--profile', 'work', '--text-model', '-']
  const changed = await init(change, { user: written })
  const expected = written.replace('https://work.example', sandbox.url)
  expect(changed.config).toBe(expected.replace('    text_model: work-model\n', ''))
  const made = await init(answers(sandbox.url, '--profile', 'new'), { user: written, stdin: 'some-key' })
  expect(made.config).toContain(`\n  new:\n    base_url: ${sandbox.url}\n`)
  expect(JSON.parse(made.credentials!)).toEqual({ profiles: { new: { api_key: 'some-key' } } })
  expect(made.out).toContain('modelgate --profile new generate')
})

test('a stored key takes the place of a file and of a command', async () => {
  const sandbox = await runningSandbox()
  const user = `base_url: ${sandbox.url}\napi_key_file: key.txt # old\napi_key_command: cat key.txt\n`
  const { code, config, credentials, err } = await init(['--api-key-file', '-'], { user, stdin: 'some-key' })
  expect({ code, config }).toEqual({ code: 0, config: `base_url: ${sandbox.url}\n` })
  expect(credentials).toContain('some-key')
  expect(err).not.toContain('warning')
})

test('a project file is neither changed nor taken for the answers', async () => {
  const sandbox = await runningSandbox()
  const project = 'base_url: https://theirs.example\n'
  const argv = ['--yes', '--base-url', sandbox.url]
  const { config, place, err } = await init(argv, { project })
  expect(config).toBe(`${comment}base_url: ${sandbox.url}\n`)
  expect(readFileSync(place.projectFile, 'utf8')).toBe(project)
  expect(err).toContain('warning: In this folder calls do not work yet. The base URL (project file')
})

const title = '\u001b]0;owned\u0007'

/** `modelgate init` on a terminal, the address given. */
async function start(url: string) {
  const terminal = questionTerminal()
  const { context } = configPlace({ ...terminal.overrides, env: { MODELGATE_API_KEY: 'some-key' } })
  const ended = main(['init', '--image-model', '-', '--video-model', '-'], context)
  await terminal.until('Address of your gateway')
  terminal.press(`${url}\r`)
  return { ...terminal, ended }
}

test('what an address answers does not act on the terminal', async () => {
  const server = await localServer([json({ error: { message: `No. ${title}` } }, { status: 500 })])
  const { ended, until, press, shown } = await start(server.url)
  await until('Correct it')
  press('\x03')
  expect(await ended).toBe(130)
  expect(shown()).toContain('No. ␛]0;owned␇')
  expect(shown()).not.toContain(title)
})

test('ids that could act on the terminal cannot be chosen', async () => {
  const ids = [`bad${title}`, 'x'.repeat(10_000), '\u202ereversed', 'good']
  const list = json({ data: ids.map((id) => ({ id })) })
  const server = await localServer([list, list])
  const { ended, until, press, shown } = await start(server.url)
  await until('As it is')
  press('\r')
  await until('good')
  press('\r')
  expect(await ended).toBe(0)
  expect(shown()).not.toMatch(/owned|xxxxx|reversed/)
})

test('Ctrl-C leaves while an address that says nothing is tried', async () => {
  const server = await localServer([[readAll, stall]])
  const { ended, press } = await start(server.url)
  await untilSome(() => server.isEndless)
  press('\x03')
  expect(await ended).toBe(130)
  await untilSome(() => server.openSockets === 0)
})

test('without a place for the answers nothing is asked', async () => {
  const { overrides, shown } = questionTerminal()
  expect(await main(['init'], testContext({ ...overrides, home: '' }))).toBe(2)
  expect(shown()).toBe('')
})

test.each<[kind: string, known: string | null, ids: string]>([
  ['image', 'image', 'gpt-image-2'],
  ['image', 'text', 'gemini-3-pro-image-preview'],
  ['image', null, 'imagen-4 flux-2-pro'],
  ['video', 'video', 'sora-2 veo-3.1'],
  ['text', 'text', 'gemini-3-pro'],
  ['text', null, 'influx-1 some-model'],
  ['other', null, 'text-embedding-3 omni-moderation-latest tts-1 gpt-realtime'],
])('of the kind %s, known as %s: %s', (expected, kind, ids) => {
  for (const id of ids.split(' ')) expect([id, kindOf({ id, kind })]).toEqual([id, expected])
})

test('a model that is being retired is not proposed before one that stays', () => {
  const stays = (id: string) => ({ id, kind: null, retires: null, retired: false })
  const listed = [{ ...stays('gpt-image-1'), retires: '2026-12-01' }, stays('gpt-5'), stays('gpt-image-2')]
  expect(inOrder('image', listed).map(({ value }) => value)).toEqual(['gpt-image-2', 'gpt-image-1', 'gpt-5'])
})
