import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ChecksDocument } from '../../src/events/checks.ts'
import { configPlace, type ConfigPlace } from '../support/config-place.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { closedPort, localServer } from '../support/local-server.ts'
import { memorySink } from '../support/memory-sink.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { json, text } from '../support/server-replies.ts'
import type { TestOverrides } from '../support/test-context.ts'

const key = 'sk-0123456789abcdef'
const now = Date.parse('2026-11-22T12:00:00Z')

async function run(place: ConfigPlace, words: readonly string[], overrides: TestOverrides = {}) {
  const all = { home: place.home, cwd: place.project, clock: fakeClock({ start: now }), ...overrides }
  const { code, out, err } = await runMain(['doctor', ...words], all)
  return { code, out: place.scrub(out), err: place.scrub(err) }
}

/** By name, what each check says: `failed: it … → remedy`. */
async function findings(overrides: TestOverrides = {}, place = configPlace(), words: readonly string[] = []) {
  const { code, out } = await run(place, words, overrides)
  const rows = out.split('\n').slice(0, -1)
  const said = rows.map((line) => {
    const [verdict, name, message, remedy] = line.split('\t')
    return [name!, `${verdict}: ${message}${remedy === '' ? '' : ` → ${remedy}`}`] as const
  })
  return { code, ...Object.fromEntries(said) } as Record<string, string | number>
}

const dated = (at: number) => ({ headers: { date: new Date(at).toUTCString() } })
const models = { object: 'list', data: [{ id: 'm' }] }

test('nothing is configured: it says what to do', async () => {
  expect(await findings()).toEqual({
    code: 2,
    Node: expect.stringMatching(/^ok: 26\.10\.0 on linux /) as string,
    terminal: 'skipped: no terminal: plain text is printed',
    configuration: 'ok: no file',
    state: 'ok: ~/.local/state/modelgate, not there yet',
    'base URL':
      'failed: No base URL is set. → Run modelgate init, or modelgate config set base_url URL. To try the program without a gateway: modelgate doctor --sandbox',
    proxy: 'ok: none',
    gateway: 'skipped: there is no base URL',
    key: 'failed: No API key is set. → Store one: modelgate auth login',
    clock: 'skipped: the gateway was not asked',
  })
})

const at = (url: string, more: Readonly<Record<string, string>> = {}) => ({
  env: { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: key, ...more },
})
const like = (pattern: RegExp) => expect.stringMatching(pattern) as string

const variable = 'from environment MODELGATE_API_KEY'

test.each<[string, number, string]>([
  [key, 0, `ok: …cdef ${variable}; accepted`],
  ['any', 0, `warning: ${variable}; accepted. A key of fewer than 8 characters is too short to be hidden.`],
  ['invalid', 3, `failed: The gateway refuses the key ${variable}. → Store another: modelgate auth login`],
])('a gateway and the key %s', async (given, code, said) => {
  const { url } = await runningSandbox()
  const clock = fakeClock({ start: Date.now() })
  expect(await findings({ ...at(url, { MODELGATE_API_KEY: given }), clock })).toMatchObject({
    code,
    'base URL': `ok: ${url} (environment MODELGATE_BASE_URL)`,
    gateway: 'ok: it answers and requires a key',
    key: said,
    clock: 'ok: right',
  })
})

test('only GET is asked, without the key at first', async () => {
  const refused = json({ error: { message: 'no key' } }, { status: 401 })
  const server = await localServer([refused, json(models)])
  expect((await findings(at(server.url))).code).toBe(0)
  expect(server.requests.map(({ line, headers }) => [line, headers['authorization']])).toEqual([
    ['GET /v1/models HTTP/1.1', undefined],
    ['GET /v1/models HTTP/1.1', `Bearer ${key}`],
  ])
})

test.each([
  [85_000, "warning: 85 s behind the gateway's → Set the clock of this machine, by NTP."],
  [-86_400_000 * 3.5, "warning: 3 d ahead of the gateway's → Set the clock of this machine, by NTP."],
  [20_000, 'ok: 20 s off'],
])('a clock that is off by %i ms', async (skew, said) => {
  const server = await localServer([json(models, dated(now + skew))])
  expect(await findings(at(server.url))).toMatchObject({
    clock: said,
    gateway: 'ok: it lists 1 model',
    key: like(/lists its models without a key/),
  })
})

test.each([
  [
    text('<html>', { headers: { 'content-type': 'text/html' } }),
    /^failed: it answers, but not as a gateway does: .* → Is it the address of the gateway/,
  ],
  [
    text('', { status: 308, headers: { location: 'https://other.example/v1/models' } }),
    /^failed: .* redirect \(HTTP 308\) to https:\/\/other\.example; it is not followed.* → Set the address/,
  ],
])('what answers is a page, or leads elsewhere', async (reply, said) => {
  const server = await localServer([reply])
  const expected = { code: 8, gateway: like(said), key: like(/not tried/) }
  expect(await findings(at(server.url))).toMatchObject(expected)
})

test('nothing answers, or the host is not known', async () => {
  const url = `http://127.0.0.1:${await closedPort()}`
  expect(await findings(at(url))).toMatchObject({
    code: 6,
    gateway: `failed: ${new URL(url).host} cannot be reached (ECONNREFUSED). → Check the base URL (--base-url) and the network; running it again is safe.`,
    key: 'ok: …cdef from environment MODELGATE_API_KEY; not tried',
    clock: 'skipped: the gateway was not reached',
  })
  expect(await findings(at('https://no-such-host.invalid'))).toMatchObject({
    code: 6,
    gateway: like(/^failed: The host no-such-host\.invalid cannot be found \((ENOTFOUND|EAI_AGAIN)\)\./),
  })
})

test('a proxy: which one, and never its password', async () => {
  const port = await closedPort()
  const far = 'https://gateway.test'
  const dead = await findings(at(far, { HTTPS_PROXY: `http://me:pass-word-1@127.0.0.1:${port}` }))
  expect(dead).toMatchObject({
    code: 6,
    proxy: `ok: http://127.0.0.1:${port}`,
    gateway: like(/^failed: The proxy 127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\. → .*PROXY/),
  })
  expect(JSON.stringify(dead)).not.toContain('pass-word-1')
  const none = await findings(at(far, { HTTPS_PROXY: 'nonsense://x', NO_PROXY: 'a.test' }))
  const proxy = 'ok: nonsense://x, but not for NO_PROXY: a.test'
  expect(none).toMatchObject({ code: 6, proxy, gateway: like(/^failed: .*proxy/) })
  const local = await findings(at(`http://127.0.0.1:${port}`, { HTTP_PROXY: 'http://127.0.0.1:1' }))
  expect(local['proxy']).toBe('ok: not used: the gateway is on this machine')
})

const misspelt = /^failed: ~\/\.config\/modelgate\/config\.yaml:1: timout is not a setting\./

test.each<[string, readonly string[], RegExp]>([
  ['', ['--timeout', 'soon'], /^failed: .*--timeout/],
  ['', ['--timeout', 'soon', '--sandbox'], /^failed: .*--timeout/],
  ['timout: 5\n', [], misspelt],
  ['timout: 5\n', ['--sandbox'], misspelt],
])('the configuration %j with %j cannot be used, which is a problem', async (user, words, said) => {
  const skipped = 'skipped: the configuration has problems'
  const expected = { code: 2, configuration: like(said), 'base URL': skipped, key: skipped }
  expect(await findings({}, configPlace({ user }), words)).toMatchObject(expected)
})

test('files that are read, variables that are not, and keys that others can read', async () => {
  const open = configPlace({
    credentials: { profiles: { default: { api_key: key } } },
    credentialsMode: 0o644,
    user: 'base_url: http://127.0.0.1:1234\n',
    project: 'quiet: false\n',
  })
  const found = await findings({ env: { MODELGATE_TIMOUT: '5', MODELGATE_XYZZY: '1' } }, open)
  expect(found['configuration']).toBe(
    'warning: user file ~/.config/modelgate/config.yaml, project file ~/project/.modelgaterc; ' +
      'not read: MODELGATE_TIMOUT (did you mean MODELGATE_TIMEOUT?), MODELGATE_XYZZY → See: modelgate help environment',
  )
  expect(found['key']).toMatch(
    /^failed: ~.*credentials\.json: other users can read your keys\. → Run: chmod 600 ~/,
  )
})

test('the state folder', { skip: process.getuid?.() === 0 }, async () => {
  const place = configPlace()
  const folder = join(place.home, 'state')
  mkdirSync(folder)
  chmodSync(folder, 0o500)
  const env = { MODELGATE_STATE_DIR: folder }
  const { state } = await findings({ env }, place)
  expect(state).toMatch(/^failed: "~\/state" cannot be written: permission denied\./)
})

test('the state folder: what is in it', async () => {
  const place = configPlace({
    files: {
      'state/calls/2026-11.jsonl': 'x'.repeat(1400),
      'state/calls/words/a.json': 'x'.repeat(100),
      'state/rescued/a.png': 'x',
    },
  })
  const folder = join(place.home, 'state')
  const env = { MODELGATE_STATE_DIR: folder }
  chmodSync(folder, 0o700)
  const said = async (overrides: TestOverrides) => (await findings(overrides, place))['state']
  const lost = 'warning: ~/state, no jobs running, log of 1.5 kB; 1 rescued result → See: ls ~/state/rescued'
  expect(await said({ env })).toBe(lost)
  chmodSync(folder, 0o755)
  expect(await said({ env })).toMatch(/other users can read it → Run: chmod 700 ~\/state$/)
  expect(await said({ env: {}, home: '' })).toMatch(/^warning: There is no state folder/)
})

test('the documents: no key, no home, and the first failure as exit code', async () => {
  const place = configPlace({ credentials: { profiles: { default: { api_key: key } } } })
  const url = `http://127.0.0.1:${await closedPort()}`
  const { code, out, err } = await run(place, ['--json', '--base-url', url])
  const { verdict, checks } = JSON.parse(out) as ChecksDocument
  expect({ code, err, verdict }).toEqual({ code: 6, err: '', verdict: 'failed' })
  const failed = checks.filter((check) => check.verdict === 'failed')
  expect(failed.map((check) => check.exit_code)).toEqual([6])
  expect(out).not.toMatch(new RegExp(`${key}|HOME`))
  const lines = (await run(place, ['--jsonl', '--sandbox'])).out.trim().split('\n')
  const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
  expect(types).toEqual(['start', ...Array<string>(9).fill('check-end'), 'end'])
})

test.each([
  [
    80,
    `✗ configuration  ~/.config/modelgate/config.yaml:1: timout is not a setting. Did
                 you mean timeout?
✓ state          ~/.local/state/modelgate, not there yet
`,
  ],
  [
    40,
    `✗ configuration
    ~/.config/modelgate/config.yaml:1:
    timout is not a setting. Did you
    mean timeout?
✓ state
`,
  ],
])('the screen of %i columns', async (columns, part) => {
  const stdout = memorySink({ isTerminal: true, columns })
  const env = { NO_COLOR: '1', LANG: 'C.UTF-8', TERM: 'xterm', MODELGATE_BASE_URL: 'http://127.0.0.1:1234' }
  const { out, err } = await run(configPlace({ user: 'timout: 5\n' }), [], { stdout, env })
  expect(out).toContain(part)
  expect(err).toBe('1 problem.\n')
})
