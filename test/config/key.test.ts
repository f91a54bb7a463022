import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkKey, type ApiKey } from '../../src/config/key.ts'
import type { SettingFlags } from '../../src/config/setting-table.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { anyText } from '../support/any-text.ts'
import { configPlace, failureOf, type ConfigPlace, type ConfigPlaceContent } from '../support/config-place.ts'

const keyOf = async ({ context }: ConfigPlace, flags: SettingFlags = {}): Promise<ApiKey> =>
  (await resolveSettings(context, flags)).apiKey()

const failure = async (content: ConfigPlaceContent, flags: SettingFlags = {}) => {
  const place = configPlace({ env: { PATH: '/usr/bin:/bin' }, ...content })
  return place.scrub(await failureOf(() => keyOf(place, flags)))
}

interface Place extends Pick<ConfigPlaceContent, 'user' | 'credentials'> {
  readonly env?: Readonly<Record<string, string>>
  readonly key: string
  readonly source: string
}

/** Every place a key can come from, the first one first, each with a key of its own. */
const places: readonly Place[] = [
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

const ways =
  'set MODELGATE_API_KEY, pass --api-key-file FILE, or set api_key_file or api_key_command in HOME/.config/modelgate/config.yaml. With --sandbox no key is needed.'

test('each profile has its own key, and never that of another', async () => {
  const credentials = {
    profiles: { default: { api_key: 'main-key-0123' }, work: { api_key: 'work-key-0123' } },
  }
  const place = configPlace({ credentials, user: 'profiles: { work: {}, lab: {} }' })
  expect((await keyOf(place)).value).toBe('main-key-0123')
  expect((await keyOf(place, { profile: 'work' })).value).toBe('work-key-0123')
  expect(place.scrub(await failureOf(() => keyOf(place, { profile: 'lab' })))).toBe(
    '3 key_missing (config)\nNo API key is set for profile "lab".\n' +
      `hint: Store one with modelgate auth login --profile lab, ${ways}`,
  )
})

test('without a key the ways to give one are named, and nothing was billed', async () => {
  expect(await failure({})).toBe(
    `3 key_missing (config)\nNo API key is set.\nhint: Store one with modelgate auth login, ${ways}`,
  )
  await expect(keyOf(configPlace())).rejects.toMatchObject({ facts: { billed: 'no' } })
})

const whole = 'hint: Give only the key, on one line, as the gateway issued it. It has not been sent.'

test.each([
  ['secret\nkey-part', 'contains a newline'],
  ['secret\r', 'contains a newline'],
  ['secret key-part', 'contains white space'],
  [' secret', 'contains white space'],
  ['secret\tkey-part', 'contains white space'],
  ['secret\u0007', 'contains a control character'],
  ['\u001b[31msecret', 'contains a control character'],
  ['secr\u00e9t-key-part', 'contains a character that is not ASCII'],
  ['secret\u200b', 'contains a character that is not ASCII'],
  ['k'.repeat(65_537), 'is longer than 65536 characters'],
])('what is wrong with a key is named, without the key (%#)', async (key, problem) => {
  expect(await failure({ env: { MODELGATE_API_KEY: key } })).toBe(
    `2 config_invalid (config)\nThe API key (environment MODELGATE_API_KEY) ${problem}.\n${whole}`,
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
  expect(() => checkKey('k'.repeat(65_536), 'here')).not.toThrow()
})

test('an empty key is a missing one, and is not passed over for the key of another account', async () => {
  const env = { MODELGATE_API_KEY: '', MODELGATE_API_KEY_FILE: '../k' }
  expect(await failure({ files: { k: 'another-key-part' }, env })).toBe(
    '3 key_missing (config)\nThe API key (environment MODELGATE_API_KEY) is empty.\n' +
      'hint: Set it there, or remove that setting. With --sandbox no key is needed.',
  )
  expect(() => checkKey('', 'here')).toThrow(
    expect.objectContaining({ facts: expect.objectContaining({ billed: 'no' }) }),
  )
})

const flagFile = '(flag --api-key-file)'

test.each([
  [
    'two lines',
    'secret\nkey-part\n',
    '../k',
    `2 config_invalid (config)\nThe API key (flag --api-key-file, file HOME/k) contains a newline.\n${whole}`,
  ],
  ['white space alone', ' \n', '../k', expect.stringMatching(/^3 key_missing .*\n.*is empty/)],
  ['nothing', '', '../k', expect.stringMatching(/^3 key_missing .*\n.*is empty/)],
  ['more than the longest key', 'k'.repeat(65_537), '../k', expect.stringMatching(/ config_invalid /)],
  [
    'nothing: it does not exist',
    '',
    '../none',
    `10 config_invalid (config)\nThe key file ${flagFile}: "HOME/none" cannot be read: it does not exist.`,
  ],
  [
    'files: it is a folder',
    '',
    '..',
    `10 config_invalid (config)\nThe key file ${flagFile}: "HOME" cannot be read: it is a folder.\nhint: Name a file.`,
  ],
  [
    'bytes without end',
    '',
    '/dev/zero',
    `10 config_invalid (config)\nThe key file ${flagFile}: "/dev/zero" is not a regular file or a pipe.`,
  ],
])('a file for the key that holds %s', async (_, content, apiKeyFile, expected) => {
  expect(await failure({ files: { k: content } }, { apiKeyFile })).toEqual(expected)
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
  ['{"profiles": {"default": {"api_key": secret-key-0123}}}', ':1:38: not valid JSON: expected a value.'],
  ['{"profiles": {"default": {"api_key": "secret-key-0123', ':1:54: not valid JSON: unterminated string.'],
  ['{"api_key": "secret-key-0123"}', ': must be a JSON object with "profiles".'],
  ['["secret-key-0123"]', ': must be a JSON object with "profiles".'],
  ['null', ': must be a JSON object with "profiles".'],
  [
    '{"profiles": {"default": {"api_key": ["secret-key-0123"]}}}',
    ': the entry of profile "default" has no api_key.',
  ],
  ['{"profiles": {"default": "secret-key-0123"}}', ': the entry of profile "default" has no api_key.'],
  ['{"profiles": {"default": null}}', ': the entry of profile "default" has no api_key.'],
  ['{"profiles": {"__proto__": {"api_key": "secret-key-0123"}}}', ': "__proto__" is not allowed as a name.'],
])('a credentials file that holds %s', async (credentials, problem) => {
  expect(await failure({ credentials })).toBe(
    `2 config_invalid (config)\nHOME/.config/modelgate/credentials.json${problem}`,
  )
})

test('a credentials file that is far too large, or a pipe, says which file it is', async () => {
  expect(await failure({ credentials: ' '.repeat(1_048_577) })).toMatch(
    /^2 config_invalid \(config\)\nThe credentials file: /,
  )
  const place = configPlace({ files: { '.config/modelgate/config.yaml': '' } })
  execFileSync('mkfifo', ['-m', '600', join(place.home, '.config/modelgate/credentials.json')])
  expect(place.scrub(await failureOf(() => keyOf(place)))).toBe(
    '10 config_invalid (config)\n' +
      'The credentials file: "HOME/.config/modelgate/credentials.json" is not a regular file.',
  )
})

test('where no home is known, a repository cannot pass for the user', async () => {
  const key = 'key-of-the-repository'
  const place = configPlace({
    files: {
      'project/.config/modelgate/config.yaml': `api_key_command: echo ${key}`,
      'project/.config/modelgate/credentials.json': `{"profiles":{"default":{"api_key":"${key}"}}}`,
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
