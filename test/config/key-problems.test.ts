import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkKey, locateKey, profileExists, runKeyCommand } from '../../src/config/key.ts'
import { Interrupted } from '../../src/errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'
import { until } from '../support/until.ts'

const env = { PATH: '/usr/bin:/bin' }

const problemOf = (key: string) => failureOf(() => checkKey(key, 'here'))

test.each([
  ['secret\nkey', 'contains a newline'],
  ['secret key', 'contains white space'],
  ['secret\u0007', 'contains a control character'],
  ['secr\u00e9t', 'contains a character that is not ASCII'],
  ['k'.repeat(65_537), 'is longer than 65536 characters'],
])('what is wrong with a key is named (%#)', async (key, problem) => {
  expect(await problemOf(key)).toBe(
    `2 key_invalid (config)\nThe API key (here) ${problem}.\n` +
      'hint: Give only the key, on one line, as the gateway issued it. It has not been sent.',
  )
})

test('a key may be as long as the limit', () => {
  expect(() => checkKey('k'.repeat(65_536), 'here')).not.toThrow()
})

test('an empty key leads to where it is set, and nothing was billed', async () => {
  expect(await problemOf('')).toBe(
    '3 key_missing (config)\nThe API key (here) is empty.\n' +
      'hint: Set it there, or remove that setting. With --sandbox no key is needed.',
  )
  expect(() => checkKey('', 'here')).toThrow(
    expect.objectContaining({ facts: expect.objectContaining({ billed: 'no' }) }),
  )
})

const keyOf = async (content: ConfigPlaceContent, apiKeyFile?: string) => {
  const place = configPlace({ env, ...content })
  const flags = apiKeyFile === undefined ? {} : { apiKeyFile }
  const settings = await resolveSettings(place.context, flags)
  return settings.apiKey()
}

test('nothing was billed where no key is set', async () => {
  await expect(keyOf({})).rejects.toMatchObject({ code: 'key_missing', facts: { billed: 'no' } })
})

test('a file for the key that has no bytes holds an empty key', async () => {
  await expect(keyOf({ files: { k: '' } }, '../k')).rejects.toMatchObject({ code: 'key_missing' })
})

test('a file for the key is not read beyond the limit of a key', async () => {
  await expect(keyOf({ files: { k: 'k'.repeat(65_537) } }, '../k')).rejects.toMatchObject({
    code: 'config_invalid',
  })
})

test.each([
  ['null', 'must be a JSON object with "profiles".'],
  ['{"profiles": {"default": null}}', 'the entry of profile "default" has no api_key.'],
])('a credentials file that holds %s', async (credentials, problem) => {
  const place = configPlace({ credentials })
  const failure = await failureOf(async () => (await resolveSettings(place.context, {})).apiKey())
  expect(place.scrub(failure)).toBe(
    `2 config_invalid (config)\nHOME/.config/modelgate/credentials.json: ${problem}`,
  )
})

test('a credentials file that is far too large says which file it is', async () => {
  const place = configPlace({ credentials: ' '.repeat(1_048_577) })
  const failure = await failureOf(async () => (await resolveSettings(place.context, {})).apiKey())
  expect(failure).toMatch(/^2 config_invalid \(config\)\nThe credentials file: /)
})

test('a pipe in place of the credentials file is not waited for', async () => {
  const place = configPlace({ files: { '.config/modelgate/config.yaml': '' } })
  execFileSync('mkfifo', ['-m', '600', join(place.home, '.config/modelgate/credentials.json')])
  const failure = await failureOf(async () => (await resolveSettings(place.context, {})).apiKey())
  expect(place.scrub(failure)).toMatchInlineSnapshot(`
    "10 config_invalid (config)
    The credentials file: "HOME/.config/modelgate/credentials.json" is not a regular file."
  `)
})

test('a profile exists when a key is stored for it', async () => {
  const { context } = configPlace({ credentials: { profiles: { work: { api_key: 'a-key' } } } })
  expect(await profileExists(context, 'work')).toBe(true)
  expect(await profileExists(context, 'lab')).toBe(false)
  expect(await profileExists(configPlace().context, 'work')).toBe(false)
  expect(await profileExists(configPlace({ credentials: 'no JSON' }).context, 'work')).toBe(false)
})

const unset = { value: undefined, level: 'default', source: 'default' } as const
const noSettings = {
  apiKeyFile: unset,
  apiKeyCommand: unset,
  profile: { value: 'default', level: 'default', source: 'default' },
} as const

test('a key is located by the kind of its place', async () => {
  const stored = configPlace({ credentials: { profiles: { default: { api_key: 'a-key' } } } })
  expect(await locateKey(stored.context, noSettings)).toMatchObject({ kind: 'credentials', value: 'a-key' })
  const given = configPlace({ env: { MODELGATE_API_KEY: 'b-key' } })
  expect(await locateKey(given.context, noSettings)).toMatchObject({ kind: 'environment', value: 'b-key' })
})

test('where the folder of settings is a file, no key is stored', async () => {
  const place = configPlace({ files: { settings: 'a file' } })
  const context = { ...place.context, env: { MODELGATE_CONFIG_DIR: join(place.home, 'settings') } }
  expect(await locateKey(context, noSettings)).toBeUndefined()
})

test('a command may print as much as the longest key', async () => {
  const { context } = configPlace({ env })
  const command = 'head -c 65536 /dev/zero | tr "\\0" k'
  expect(await runKeyCommand(context, command, 'here')).toBe('k'.repeat(65_536))
})

test('a command starts in the root folder where the home directory does not exist', async () => {
  const { context, home } = configPlace({ env })
  expect(await runKeyCommand({ ...context, home: join(home, 'none') }, 'pwd', 'here')).toBe('/')
})

test('a command starts in the root folder where no home is known', async () => {
  const { context } = configPlace({ env })
  expect(await runKeyCommand({ ...context, home: '' }, 'pwd', 'here')).toBe('/')
})

test('a command that cannot be started', async () => {
  const { context, home } = configPlace({ env, files: { file: '' } })
  const run = () => runKeyCommand({ ...context, home: join(home, 'file') }, 'pwd', 'here')
  expect(await failureOf(run)).toBe(
    '2 key_command_failed (config)\nThe command that should print the API key (here) could not be started.\n' +
      'hint: Run it by hand in your home directory to see why.',
  )
})

test('a call that is over does not wait for its command', async () => {
  const { context } = configPlace({ env })
  context.abort(new Interrupted('interrupt'))
  await expect(runKeyCommand(context, 'echo a-key', 'here')).rejects.toBeInstanceOf(Interrupted)
  await until(() => context.clock.pendingTimers === 0)
})
