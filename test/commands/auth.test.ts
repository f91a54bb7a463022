import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { KeysDocument } from '../../src/events/checks.ts'
import { configPlace, type ConfigPlace } from '../support/config-place.ts'
import { closedPort, localServer } from '../support/local-server.ts'
import { memorySink } from '../support/memory-sink.ts'
import { pipedInput } from '../support/piped-input.ts'
import { questionTerminal } from '../support/question-terminal.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import type { TestOverrides } from '../support/test-context.ts'
import { main } from '../../src/main.ts'

const key = 'sk-0123456789abcdef'

async function run(place: ConfigPlace, words: string, overrides: TestOverrides = {}) {
  const all = { home: place.home, cwd: place.project, ...overrides }
  const { code, out, err } = await runMain(['auth', ...words.split(' ')], all)
  return { code, out: place.scrub(out), err: place.scrub(err) }
}

const storedIn = (place: ConfigPlace) => {
  const file = join(place.home, '.config/modelgate/credentials.json')
  if (!existsSync(file)) return undefined
  expect(statSync(file).mode & 0o777).toBe(0o600)
  return (JSON.parse(readFileSync(file, 'utf8')) as { profiles: unknown }).profiles
}

const isStored = 'The key (…cdef) of profile default is stored in ~/.config/modelgate/credentials.json.\n'

test('login stores the piped key, and says where', async () => {
  const place = configPlace()
  expect(await run(place, 'login', { stdin: `  ${key}\n` })).toEqual({
    code: 0,
    out: '',
    err: `${isStored}No base URL is set yet: modelgate config set base_url URL\n`,
  })
  await run(place, 'login --profile work --api-key-file -', { stdin: 'key-of-work-9999' })
  expect(storedIn(place)).toEqual({ default: { api_key: key }, work: { api_key: 'key-of-work-9999' } })
})

test.each<[words: string, overrides: TestOverrides, code: number, err: string]>([
  ['login', {}, 2, 'No key was given, and there is no terminal to ask for it.'],
  ['login --no-stdin', { stdin: key }, 2, 'No key was given, and there is no terminal to ask for it.'],
  ['login', { stdin: 'two words\n' }, 2, 'The API key (standard input) contains white space.'],
  ['login --api-key-file gone.txt', {}, 10, '"gone.txt" cannot be read: it does not exist.'],
])('%s %j stores nothing', async (words, overrides, code, err) => {
  const place = configPlace()
  const result = await run(place, words, overrides)
  expect(result).toEqual({ code, out: '', err: expect.stringContaining(`modelgate: ${err}\n`) })
  expect(storedIn(place)).toBeUndefined()
})

test('login asks the gateway: a key that it refuses is not stored', async () => {
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url }
  const place = configPlace({ user: 'retry: never\n' })
  const { host } = new URL(url)
  expect(await run(place, 'login', { env, stdin: 'invalid' })).toEqual({
    code: 3,
    out: '',
    err: `modelgate: ${host} refuses the key; it was not stored.\n  hint: Check it, and the base URL; --no-check stores it anyway.\n`,
  })
  expect(storedIn(place)).toBeUndefined()
  expect((await run(place, 'login --no-check -q', { env, stdin: 'invalid' })).err).toBe('')
  expect((await run(place, 'login', { env, stdin: key })).err).toBe(`${host} accepts the key.\n${isStored}`)
})

test('login where the gateway cannot tell: the key is stored', async () => {
  const open = await localServer([0, 1].map(() => json({ object: 'list', data: [{ id: 'm' }] })))
  const place = configPlace()
  expect((await run(place, 'login', { env: { MODELGATE_BASE_URL: open.url }, stdin: key })).err).toBe(
    `The key could not be checked: ${new URL(open.url).host} lists its models without a key.\n${isStored}`,
  )
  const dead = `http://127.0.0.1:${await closedPort()}`
  const env = { MODELGATE_BASE_URL: dead, MODELGATE_API_KEY: 'env-key-0123456' }
  const { code, err } = await run(place, 'login', { env, stdin: key })
  expect(code).toBe(0)
  expect(err).toMatch(/^The key could not be checked: .*127\.0\.0\.1/)
  expect(err).toContain('warning: environment MODELGATE_API_KEY takes precedence over it.\n')
})

test('login at a gateway that gives the key back does not show it', async () => {
  const server = await localServer([json({ error: { message: `Got ${key}` } }, { status: 418 })])
  const env = { MODELGATE_BASE_URL: server.url }
  const { code, err } = await run(configPlace(), 'login', { env, stdin: key })
  expect(code).toBe(0)
  expect(err).toContain('The key could not be checked: it answers, but not as a gateway does: ')
  expect(err).not.toContain(key)
})

test('login on a terminal: the key is not shown, and asked for again until it is good', async () => {
  const { url } = await runningSandbox()
  const terminal = questionTerminal()
  const place = configPlace({ env: { MODELGATE_BASE_URL: url }, ...terminal.overrides })
  const ended = main(['auth', 'login'], place.context)
  await terminal.until('API key:')
  terminal.press('invalid\r')
  await terminal.until('refuses the key; it was not stored.')
  terminal.press(`\u0015${key}\r`)
  expect(await ended).toBe(0)
  expect(terminal.shown() + place.context.stderr.text).not.toContain(key)
  expect(storedIn(place)).toEqual({ default: { api_key: key } })
})

test('an open pipe that stays silent does not hang login', async () => {
  const { context } = configPlace({ stdin: pipedInput('pipe') })
  const ended = main(['auth', 'login'], context)
  await context.clock.advance(59_000)
  expect(context.stderr.text).toBe('Waiting for the key on standard input, an open pipe.\n')
  await context.clock.advance(2_000)
  expect(await ended).toBe(2)
})

test('logout removes what login has stored, and says what else there is', async () => {
  const stored = { profiles: { default: { api_key: key }, work: { api_key: key } } }
  const place = configPlace({ credentials: stored })
  const file = '~/.config/modelgate/credentials.json'
  const env = { MODELGATE_API_KEY: 'env-key-0123456' }
  expect((await run(place, 'logout', { env })).err).toBe(
    `The key of profile default is removed from ${file}.\nwarning: environment MODELGATE_API_KEY still supplies a key.\n`,
  )
  expect((await run(place, 'logout')).err).toBe(`No key of profile default is stored in ${file}.\n`)
  expect((await run(place, 'logout --all')).err).toBe(`The key of profile work is removed from ${file}.\n`)
  expect((await run(place, 'logout --all')).err).toBe('No key is stored.\n')
  expect(storedIn(place)).toEqual({})
  expect((await run(place, 'logout --all --profile work')).code).toBe(2)
})

const status = async (place: ConfigPlace, words = 'status', overrides: TestOverrides = {}) => {
  const { code, out } = await run(place, words, overrides)
  const lines = out.split('\n').filter(Boolean)
  return { code, rows: lines.map((line) => line.split('\t')) }
}

test('status: every profile, its source, and nothing of a key but four characters', async () => {
  const place = configPlace({
    user: `base_url: https://a.example\nprofiles:\n  file:\n    api_key_file: ~/k.txt\n  command:\n    api_key_command: echo ${key}\n`,
    credentials: { profiles: { stored: { api_key: 'key-of-store-9999' }, short: { api_key: 'tiny-k' } } },
    files: { 'k.txt': 'key-of-file-8888' },
  })
  const url = 'https://a.example'
  const user = 'user file HOME/.config/modelgate/config.yaml'
  const store = 'credentials file HOME/.config/modelgate/credentials.json'
  expect(await status(place)).toEqual({
    code: 3,
    rows: [
      ['default', 'current', '', '', url, 'no key'],
      ['file', '', '8888', `${user}, profile file, file HOME/k.txt`, url, ''],
      ['command', '', '', `${user}, profile command, its command`, url, ''],
      ['stored', '', '9999', store, url, ''],
      ['short', '', '', store, url, ''],
    ],
  })
  expect((await status(place, 'status --profile command')).rows[0]?.[2]).toBe('cdef')
  const warning = async (profile: string) => {
    const { out } = await run(place, `status --json --profile ${profile}`)
    return (JSON.parse(out) as KeysDocument).profiles.map(({ warning }) => warning)
  }
  expect(await warning('file')).toEqual(['Other users can read HOME/k.txt: chmod 600 it.'])
  expect(await warning('short')).toEqual(['A key of fewer than 8 characters is too short to be hidden.'])
})

test('status --check: what the gateway says', async () => {
  const { url } = await runningSandbox()
  const profiles = { default: { api_key: 'invalid' }, work: { api_key: key } }
  const { host } = new URL(url)
  const env = { MODELGATE_BASE_URL: url }
  const { code, rows } = await status(configPlace({ credentials: { profiles } }), 'status --check', { env })
  expect(code).toBe(3)
  expect(rows.map((row) => row.at(-1))).toEqual([`${host} refuses the key`, `${host} accepts the key`])
})

test.each([
  [
    80,
    `  ✓ Key …3456 from environment MODELGATE_API_KEY
  ! The key that auth login stored is not used: environment MODELGATE_API_KEY
    takes precedence over it.

work https://a.example
`,
  ],
  [
    40,
    `  ✓ Key …3456 from environment
    MODELGATE_API_KEY
  ! The key that auth login stored is
`,
  ],
])('status on a terminal of %i columns', async (columns, part) => {
  const place = configPlace({
    user: 'base_url: https://a.example\nprofiles:\n  work: { quiet: false }\n',
    credentials: { profiles: { default: { api_key: key } } },
  })
  const stdout = memorySink({ isTerminal: true, columns })
  const env = { MODELGATE_API_KEY: 'env-key-0123456', NO_COLOR: '1' }
  expect((await run(place, 'status', { stdout, env })).out).toContain(
    `default (in use) https://a.example\n${part}`,
  )
})
