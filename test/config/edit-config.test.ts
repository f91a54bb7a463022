import { lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { editUserFile, type Change } from '../../src/config/edit-config.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'

const set = (path: string, value: unknown): Change => ({ path: path.split('.'), value })
const unset = (path: string): Change => ({ path: path.split('.'), value: undefined })

/** The user's own file after the changes. */
async function edited(user: string, ...changes: Change[]): Promise<string> {
  const place = configPlace({ user })
  await editUserFile(place.context, changes)
  return readFileSync(place.userFile, 'utf8')
}

const failure = async (content: ConfigPlaceContent, ...changes: Change[]) => {
  const place = configPlace(content)
  return place.scrub(await failureOf(() => editUserFile(place.context, changes)))
}

const commented = `# Mine.

base_url: "https://a.example" # at work

# the model
text_model: 'x'

trusted_origins:
  # the first
  - https://a.example # a
  - https://b.example # b
timeout: 5 # slow
profiles:
  # work things
  work:
    # inner
    base_url: https://w.example
  empty: {} # nothing
  flow: { timeout: 3, idle_timeout: 4 } # two

# end
`

test.each<[what: string, change: Change, from: string, to: string]>([
  [
    'a value, with its quotes',
    set('base_url', 'https://c.example'),
    '"https://a.example"',
    '"https://c.example"',
  ],
  ['a number', set('timeout', 7), 'timeout: 5 # slow', 'timeout: 7 # slow'],
  ['a setting that goes', unset('timeout'), 'timeout: 5 # slow\n', ''],
  ['a new setting', set('retry', 'never'), '\n# end\n', 'retry: never\n\n# end\n'],
  [
    'a list, with its comments',
    set('trusted_origins', ['https://b.example', 'https://c.example']),
    '  # the first\n  - https://a.example # a\n  - https://b.example # b\n',
    '  - https://b.example\n  - https://c.example\n',
  ],
  [
    'a setting of a profile',
    set('profiles.work.timeout', 3),
    'https://w.example\n',
    'https://w.example\n    timeout: 3\n',
  ],
  [
    'the last setting of a profile: the profile stays',
    unset('profiles.work.base_url'),
    'base_url: https://w.example\n',
    '{}\n',
  ],
  ['the first setting of an empty profile', set('profiles.empty.timeout', 3), '{} #', '{ timeout: 3 } #'],
  ['a setting in braces', unset('profiles.flow.timeout'), '{ timeout: 3, idle', '{ idle'],
  ['a new profile', set('profiles.new.timeout', 1), '\n# end\n', '  new:\n    timeout: 1\n\n# end\n'],
  ['a mapping that is new', set('families.m', 'none'), '\n# end\n', 'families:\n  m: none\n\n# end\n'],
])('%s: nothing else changes', async (_, change, from, to) => {
  expect(commented).toContain(from)
  expect(await edited(commented, change)).toBe(commented.replace(from, to))
})

test('the comment above a setting outlives it, and brackets keep their form', async () => {
  const list = 'trusted_origins: [ https://a.example, https://b.example ]\n'
  expect(await edited(`# note\ntext_model: a # mine\n${list}`, unset('text_model'))).toBe(`# note\n${list}`)
  expect(await edited(`${list}# note\ntext_model: a\n`, unset('text_model'))).toBe(`${list}# note\n`)
  expect(await edited('text_model: a # mine\n\n# note\n', unset('text_model'))).toBe('\n# note\n')
})

test('JSON stays JSON, with its indentation', async () => {
  expect(await edited('{"timeout": 1}\n', set('retry', 'never'))).toBe('{"timeout":1,"retry":"never"}\n')
  const place = configPlace({ files: { '.config/modelgate/config.json': '{\n\t"timeout": 1\n}' } })
  await editUserFile(place.context, [set('timeout', 2), set('profiles.w.quiet', true)])
  expect(readFileSync(join(place.home, '.config/modelgate/config.json'), 'utf8')).toBe(
    '{\n\t"timeout": 2,\n\t"profiles": {\n\t\t"w": {\n\t\t\t"quiet": true\n\t\t}\n\t}\n}',
  )
})

test('the file that is read is the one that is edited, and keeps its mode and its link', async () => {
  const own = '.config/modelgate/config'
  const place = configPlace({ files: { [`${own}.yaml`]: '# empty\n', [`${own}.yml`]: 'timeout: 1\n' } })
  const { path } = await editUserFile(place.context, [set('timeout', 2)])
  expect([place.scrub(path), statSync(path).mode & 0o777]).toEqual([`HOME/${own}.yml`, 0o644])

  const linked = configPlace({ files: { 'dotfiles/config.yaml': 'timeout: 1\n', '.config/modelgate/x': '' } })
  const target = join(linked.home, 'dotfiles/config.yaml')
  symlinkSync(target, linked.userFile)
  await editUserFile(linked.context, [set('timeout', 2)])
  expect(lstatSync(linked.userFile).isSymbolicLink()).toBe(true)
  expect(readFileSync(target, 'utf8')).toBe('timeout: 2\n')
})

test('a new file is for its owner alone, in a folder that is', async () => {
  const place = configPlace({ env: { XDG_CONFIG_HOME: undefined } })
  expect(await editUserFile(place.context, [unset('timeout')])).toMatchObject({ changed: false })
  expect(await editUserFile(place.context, [set('timeout', 2)])).toMatchObject({ changed: true })
  expect(statSync(place.userFile).mode & 0o777).toBe(0o600)
  expect(statSync(join(place.home, '.config/modelgate')).mode & 0o777).toBe(0o700)
  expect((await resolveSettings(place.context)).timeout.value).toBe(2)
})

test.each([
  [
    'quiet: true\n',
    [set('timeout', -1), set('base_url', 'http://a.example')],
    ':2: timeout must be a number of seconds greater than 0, not -1.\nThe base URL (base_url) would send the key to a.example in clear text. Use https://, or allow it on purpose with --allow-http.',
  ],
  ['timeout: [\n', [set('quiet', true)], ':2:1: not valid YAML: deficient indentation.'],
  ['timout: 5\n', [set('quiet', true)], ':1: timout is not a setting. Did you mean timeout?'],
  [
    'profiles: { a: &x { quiet: true }, b: *x }\n',
    [unset('profiles.a')],
    ': profiles.a cannot be changed without changing other settings.\nhint: The file uses anchors and aliases there: change it in an editor.',
  ],
])('nothing is written that would not be read: %j', async (user, changes, problem) => {
  expect(await failure({ user }, ...changes)).toBe(
    `2 config_invalid (config)\nHOME/.config/modelgate/config.yaml${problem}`,
  )
})

test('without a home there is no place for a file', async () => {
  const homeless = { ...configPlace().context, home: '' }
  expect(await failureOf(() => editUserFile(homeless, [set('quiet', true)]))).toBe(
    '2 config_invalid (config)\nThere is no place for a configuration file, because no home directory is known.\nhint: Name a folder with MODELGATE_CONFIG_DIR.',
  )
})

test('a change may repair the file', async () => {
  expect(await edited('timout: 5\nquiet: true\n', unset('timout'))).toBe('quiet: true\n')
  expect(await edited('timeout: "5"\n', set('timeout', 5))).toBe('timeout: 5\n')
})
