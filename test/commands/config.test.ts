import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { SettingsDocument } from '../../src/events/setting.ts'
import { configPlace, type ConfigPlace, type ConfigPlaceContent } from '../support/config-place.ts'
import { memorySink } from '../support/memory-sink.ts'
import { runMain } from '../support/run-main.ts'
import type { TestOverrides } from '../support/test-context.ts'

/** Runs `modelgate config …` in the project of a place; the random name of its folder is replaced. */
async function run(place: ConfigPlace, words: string, overrides: TestOverrides = {}) {
  const all = { home: place.home, cwd: place.project, ...overrides }
  const { code, out, err } = await runMain(['config', ...words.split(' ')], all)
  return { code, out: place.scrub(out), err: place.scrub(err) }
}

const printed = (content: ConfigPlaceContent, words: string, overrides?: TestOverrides) =>
  run(configPlace(content), words, overrides)

const user = `timeout: 5
api_key_command: echo sk-0123456789
trusted_origins: [https://a.example]
families: { my-model: image-model-a }
profiles: { work: { timeout: 7 } }
`

test('list: what is set, with its source and line, in a pipe', async () => {
  const env = { MODELGATE_TRUSTED_ORIGINS: 'https://b.example', MODELGATE_RETRY: 'never' }
  const { code, out, err } = await printed({ user, project: 'quiet: true\n' }, 'list', { env })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.split('\n').map((line) => line.split('\t'))).toEqual([
    ['api_key_command', '(hidden)', 'user file HOME/.config/modelgate/config.yaml:2'],
    [
      'trusted_origins',
      'https://b.example, https://a.example',
      'environment MODELGATE_TRUSTED_ORIGINS and user file HOME/.config/modelgate/config.yaml',
    ],
    ['timeout', '5', 'user file HOME/.config/modelgate/config.yaml:1'],
    ['retry', 'never', 'environment MODELGATE_RETRY'],
    ['families', '{"my-model":"image-model-a"}', 'user file HOME/.config/modelgate/config.yaml:4'],
    ['quiet', 'true', 'project file HOME/project/.modelgaterc:1'],
    [''],
  ])
})

test('list: the address of a queue may hold a password', async () => {
  const { out } = await printed({ user: 'queue: postgres://me:sk-0123456789@host/jobs' }, 'list')
  expect(out).toBe('queue\t(hidden)\tuser file HOME/.config/modelgate/config.yaml:1\n')
})

test('list: of a profile, as JSON, with the defaults', async () => {
  const { out } = await printed({ user }, 'list --profile work --json')
  const { profile, settings } = JSON.parse(out) as SettingsDocument
  expect(profile).toBe('work')
  const { timeout, connect_timeout } = Object.fromEntries(settings.map((one) => [one.name, one]))
  expect(timeout).toMatchObject({
    value: 7,
    level: 'user',
    source: 'user file HOME/.config/modelgate/config.yaml, profile work',
    file: 'HOME/.config/modelgate/config.yaml',
    line: 5,
    env: 'MODELGATE_TIMEOUT',
    flag: '--timeout',
  })
  expect(connect_timeout).toMatchObject({ value: 10, level: 'default' })
  expect(out).not.toContain('sk-0123456789')
})

test.each([
  [80, 'families         {"my-model":"image-model-a"}  ~/.config/modelgate/config.yaml:4\n'],
  [40, 'families         {"my-model":"image-mo…\n  ~/.config/modelgate/config.yaml:4\n'],
])('list on a terminal of %i columns', async (columns, part) => {
  const stdout = memorySink({ isTerminal: true, columns })
  const { out } = await printed({ user }, 'list', { stdout, env: { NO_COLOR: '1' } })
  expect(out).toContain(part)
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
})

test.each([
  ['', 0, 'Nothing is set. All settings: modelgate config list --all\n'],
  [
    'timout: 5\n',
    2,
    'modelgate: HOME/.config/modelgate/config.yaml:1: timout is not a setting. Did you mean timeout?\n',
  ],
])('list of the file %j', async (content, code, err) => {
  expect(await printed({ user: content }, 'list')).toEqual({ code, out: '', err })
})

test.each([
  ['get timeout', '5\n'],
  ['get --profile work timeout', '7\n'],
  ['get profiles.work.timeout', '7\n'],
  ['get connect-timeout', '10\n'],
  ['get trusted_origins', 'https://a.example\n'],
  ['get families.my-model', 'image-model-a\n'],
  ['get families', '{\n  "my-model": "image-model-a"\n}\n'],
  ['get api_key_command', 'echo sk-0123456789\n'],
])('%s prints the value alone', async (words, out) => {
  expect(await printed({ user }, words)).toEqual({ code: 0, out, err: '' })
})

test.each([
  ['get text_model', 'text_model is not set.\n  hint: Set it: modelgate config set text_model VALUE'],
  ['get families.other', 'families.other is not set.'],
  ['get timeot', '"timeot" is not a setting.\n  hint: Did you mean timeout? All settings: modelgate config'],
  ['set xyzzy 5', '"xyzzy" is not a setting.\n  hint: See: modelgate config list --all'],
  ['set api-key sk-1', '"api-key" is not a setting.\n  hint: Keys do not belong in configuration files: '],
  ['set timeout.x 5', 'timeout has no parts: "timeout.x" is not a setting.'],
  ['set timeout -1', 'timeout must be a number of seconds greater than 0, not -1.'],
  ['set quiet perhaps', 'quiet must be true or false, not "perhaps".'],
  ['set base_url ftp://a.example', 'The base URL (base_url) must start with https:// or http://.'],
  ['set profiles.work.profile x', 'profile cannot be set in a profile.'],
  ['path project', 'There is no project file here.\n  hint: It is looked for from the working directory up'],
])('%s is refused, and nothing is changed', async (words, err) => {
  const place = configPlace({ user })
  const refused = { code: 2, out: '', err: expect.stringContaining(`modelgate: ${err}`) as string }
  expect(await run(place, words)).toEqual(refused)
  expect(readFileSync(place.userFile, 'utf8')).toBe(user)
})

test('set and unset change the file, and say so', async () => {
  const place = configPlace({ user })
  const file = '~/.config/modelgate/config.yaml'
  const steps = [
    ['set idle-timeout 9', `idle_timeout is set in ${file}.\n`],
    ['set quiet yes', `quiet is set in ${file}.\n`],
    ['set trusted_origins https://b.example,https://c.example', `trusted_origins is set in ${file}.\n`],
    ['set families.gpt-4.1 none', `families.gpt-4.1 is set in ${file}.\n`],
    ['set --profile new ca_file a.pem', `profiles.new.ca_file is set in ${file}.\n`],
    ['unset families.my-model', `families.my-model is removed from ${file}.\n`],
    ['unset timeout', `timeout is removed from ${file}.\n`],
    ['unset timeout', `timeout was not set in ${file}.\n`],
    ['unset profiles.work', `profiles.work is removed from ${file}.\n`],
    ['unset -q api_key_command', ''],
  ] as const
  for (const [words, err] of steps) expect(await run(place, words)).toEqual({ code: 0, out: '', err })
  expect(place.scrub(readFileSync(place.userFile, 'utf8')))
    .toBe(`trusted_origins: [ https://b.example, https://c.example ]
families: { gpt-4.1: none }
profiles: { new: { ca_file: HOME/project/a.pem } }
idle_timeout: 9
quiet: true
`)
})

test.each<[string, string, ConfigPlaceContent]>([
  ['set timeout 4', 'warning: project file HOME/project/.modelgaterc takes', { project: 'timeout: 3\n' }],
  ['set timeout 4', 'config.yaml, profile work takes precedence', { env: { MODELGATE_PROFILE: 'work' } }],
  ['unset --profile work timeout', 'It is still set: user file HOME/.config/modelgate/config.yaml.\n', {}],
])('what hides a setting is told: %s: %s', async (words, err, { env = {}, ...content }) => {
  expect((await printed({ user, ...content }, words, { env })).err).toContain(err)
})

test('path: every place, there or not', async () => {
  const place = configPlace({ user })
  expect((await run(place, 'path')).out.split('\n')).toEqual([
    'user\tHOME/.config/modelgate/config.yaml\texists',
    'project\t\tmissing',
    'credentials\tHOME/.config/modelgate/credentials.json\tmissing',
    'state\tHOME/.local/state/modelgate\tmissing',
    'log\tHOME/.local/state/modelgate/calls\tmissing',
    'rescued\tHOME/.local/state/modelgate/rescued\tmissing',
    '',
  ])
  expect((await run(place, 'path user')).out).toBe('HOME/.config/modelgate/config.yaml\n')
  expect(JSON.parse((await run(place, 'path --json')).out)).toMatchObject({
    places: [{ name: 'user', exists: true }, { path: null, exists: false }, {}, {}, {}, {}],
  })
})
