import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkKey, type ApiKey } from '../../src/config/key.ts'
import { resolveSettings, type SettingFlags } from '../../src/config/settings.ts'
import { anyText } from '../support/any-text.ts'
import { configPlace, failureOf, type ConfigPlace, type ConfigPlaceContent } from '../support/config-place.ts'

const keyOf = async ({ context }: ConfigPlace, flags: SettingFlags = {}): Promise<ApiKey> =>
  (await resolveSettings(context, flags)).apiKey()

const failure = async (content: ConfigPlaceContent, flags: SettingFlags = {}) => {
  const place = configPlace({ env: { PATH: '/usr/bin:/bin' }, ...content })
  return place.scrub(await failureOf(() => keyOf(place, flags)))
}

/** Every place a key can come from, the first one first, each with a key of its own. */
const places: {
  env?: Record<string, string>
  user?: string
  credentials?: unknown
  key: string
  source: string
}[] = [
  { key: 'key-of-the-flag-file', source: 'flag --api-key-file, file HOME/flag-key' },
  {
    env: { MODELGATE_API_KEY: 'key-of-environment' },
    key: 'key-of-environment',
    source: 'environment MODELGATE_API_KEY',
  },
  {
    env: { MODELGATE_API_KEY_FILE: '../env-key' },
    key: 'key-of-the-env-file',
    source: 'environment MODELGATE_API_KEY_FILE, file HOME/env-key',
  },
  {
    env: { MODELGATE_API_KEY_COMMAND: 'echo key-of-env-command' },
    key: 'key-of-env-command',
    source: 'environment MODELGATE_API_KEY_COMMAND, its command',
  },
  {
    user: 'api_key_file: ~/user-key',
    key: 'key-of-the-user-file',
    source: 'user file HOME/.config/modelgate/config.yaml, file HOME/user-key',
  },
  {
    user: 'api_key_command: echo key-of-user-command',
    key: 'key-of-user-command',
    source: 'user file HOME/.config/modelgate/config.yaml, its command',
  },
  {
    credentials: { profiles: { default: { api_key: 'key-of-credentials' } } },
    key: 'key-of-credentials',
    source: 'credentials file HOME/.config/modelgate/credentials.json',
  },
]
const files = {
  'flag-key': 'key-of-the-flag-file',
  'env-key': '\n key-of-the-env-file\r\n\n',
  'user-key': '\uFEFFkey-of-the-user-file\n',
}

test.each(places.map((place, index) => [place.key, index] as const))(
  '%s wins over all that come later',
  async (_, index) => {
    const present = places.slice(index)
    const place = configPlace({
      files,
      env: Object.assign({ PATH: '/usr/bin:/bin' }, ...present.map(({ env }) => env)),
      user: present.flatMap(({ user }) => user ?? []).join('\n'),
      credentials: places.at(-1)?.credentials,
    })
    const key = await keyOf(place, index === 0 ? { apiKeyFile: '../flag-key' } : {})
    expect([key.value, place.scrub(key.source)]).toEqual([places[index]?.key, places[index]?.source])
  },
)

test.each([
  ['abcdefghijkl', 'ijkl'],
  ['abcdefghijk', ''],
])('of %s only %j may be shown', async (key, lastFour) => {
  expect((await keyOf(configPlace({ env: { MODELGATE_API_KEY: key } }))).lastFour).toBe(lastFour)
})

test('each profile has its own key, and never that of another', async () => {
  const credentials = {
    profiles: { default: { api_key: 'main-key-0123' }, work: { api_key: 'work-key-0123' } },
  }
  const place = configPlace({ credentials, user: 'profiles: { work: {}, lab: {} }' })
  expect((await keyOf(place)).value).toBe('main-key-0123')
  expect((await keyOf(place, { profile: 'work' })).value).toBe('work-key-0123')
  expect(place.scrub(await failureOf(() => keyOf(place, { profile: 'lab' })))).toMatchInlineSnapshot(`
    "3 key_missing (config)
    No API key is set for profile "lab".
    hint: Store one with modelgate auth login --profile lab, set MODELGATE_API_KEY, pass --api-key-file FILE, or set api_key_file or api_key_command in HOME/.config/modelgate/config.yaml. With --sandbox no key is needed."
  `)
})

test('without a key the ways to give one are named', async () => {
  expect(await failure({})).toMatchInlineSnapshot(`
    "3 key_missing (config)
    No API key is set.
    hint: Store one with modelgate auth login, set MODELGATE_API_KEY, pass --api-key-file FILE, or set api_key_file or api_key_command in HOME/.config/modelgate/config.yaml. With --sandbox no key is needed."
  `)
})

test.each([
  ['a newline inside', 'secret\nkey-part'],
  ['a carriage return', 'secret\r'],
  ['a space inside', 'secret key-part'],
  ['a space around', ' secret'],
  ['a tab', 'secret\tkey-part'],
  ['a control character', 'secret\u0007'],
  ['an escape', '\u001b[31msecret'],
  ['an accent', 'secr\u00e9t-key-part'],
  ['a zero-width space', 'secret\u200b'],
])('a key with %s is refused without being shown', async (_, key) => {
  const message = await failure({ env: { MODELGATE_API_KEY: key } })
  expect(message).toMatch(/^2 key_invalid \(config\)\nThe API key \(environment MODELGATE_API_KEY\) contains/)
  expect(message).not.toMatch(/secr|key-part/)
})

test('an empty key is a missing one, and is not passed over for the key of another account', async () => {
  const files = { k: 'another-key-part' }
  const message = await failure({ files, env: { MODELGATE_API_KEY: '', MODELGATE_API_KEY_FILE: '../k' } })
  expect(message).toMatch(
    /^3 key_missing \(config\)\nThe API key \(environment MODELGATE_API_KEY\) is empty\./,
  )
})

test('whatever the key, it is accepted as printable ASCII or refused without a trace of it', () => {
  fc.assert(
    fc.property(anyText({ minLength: 6 }), (key) => {
      let message = ''
      try {
        checkKey(key, 'here')
      } catch (error) {
        message = String(error)
      }
      expect(message === '').toBe(/^[!-~]+$/.test(key))
      expect(message).not.toContain(key)
    }),
  )
})

test('a file for the key: white space around it is no part of it, inside it is refused', async () => {
  expect(await failure({ files: { k: 'secret\nkey-part\n' } }, { apiKeyFile: '../k' }))
    .toMatchInlineSnapshot(`
      "2 key_invalid (config)
      The API key (flag --api-key-file, file HOME/k) contains a newline.
      hint: Give only the key, on one line, as the gateway issued it. It has not been sent."
    `)
  expect(await failure({ files: { k: ' \n' } }, { apiKeyFile: '../k' })).toMatch(
    /^3 key_missing .*\n.*is empty/,
  )
})

test.each([
  ['that does not exist', '../none'],
  ['that is a folder', '..'],
  ['that never ends', '/dev/zero'],
])('a file for the key %s', async (_, apiKeyFile) => {
  expect(await failure({}, { apiKeyFile })).toMatchSnapshot()
})

test('a credentials file that others can read is refused, with the command to mend it', async () => {
  const credentials = { profiles: { default: { api_key: 'secret-key-0123' } } }
  for (const credentialsMode of [0o640, 0o604, 0o620, 0o666]) {
    expect(await failure({ credentials, credentialsMode })).toBe(
      '2 config_invalid (config)\n' +
        'HOME/.config/modelgate/credentials.json: other users can read your keys.\n' +
        'hint: Run: chmod 600 HOME/.config/modelgate/credentials.json',
    )
  }
})

test.each([
  ['not JSON', '{"profiles": {"default": {"api_key": secret-key-0123}}}'],
  ['cut short', '{"profiles": {"default": {"api_key": "secret-key-0123'],
  ['without profiles', '{"api_key": "secret-key-0123"}'],
  ['a list', '["secret-key-0123"]'],
  ['a key that is no text', '{"profiles": {"default": {"api_key": ["secret-key-0123"]}}}'],
  ['an entry that is no object', '{"profiles": {"default": "secret-key-0123"}}'],
  ['a dangerous name', '{"profiles": {"__proto__": {"api_key": "secret-key-0123"}}}'],
])('a credentials file that is %s', async (_, credentials) => {
  const message = await failure({ credentials })
  expect(message).not.toContain('secret')
  expect(message).toMatchSnapshot()
})

test('where no home is known, a repository cannot pass for the user', async () => {
  const place = configPlace({
    files: {
      'project/.config/modelgate/config.yaml': 'api_key_command: echo key-of-the-repository',
      'project/.config/modelgate/credentials.json':
        '{"profiles":{"default":{"api_key":"key-of-the-repository"}}}',
    },
  })
  const nobody = { ...place, context: { ...place.context, home: place.project } }
  expect(await failureOf(() => keyOf(nobody))).toMatch('key_missing')
})

test('the command of a call runs once, however often its key is asked for', async () => {
  const place = configPlace({
    env: { PATH: '/usr/bin:/bin' },
    user: 'api_key_command: echo x >> ran; echo key',
  })
  const settings = await resolveSettings(place.context)
  const keys = await Promise.all([settings.apiKey(), settings.apiKey()])
  expect(keys.map(({ value }) => value)).toEqual(['key', 'key'])
  expect(readFileSync(join(place.home, 'ran'), 'utf8')).toBe('x\n')
})
