import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'

const failure = async (content: ConfigPlaceContent) => {
  const place = configPlace(content)
  return place.scrub(await failureOf(() => resolveSettings(place.context)))
}

const noImport = ': "$import" is not supported: a configuration file cannot include others.'

test('everything wrong with both files is reported at once, with the lines', async () => {
  const user = [
    'base-url: https://gateway.example',
    'timout: 5',
    'timeout: "5"',
    'retry: perhaps',
    'profiles:',
    '  work:',
    '    idle_timeout: -1',
    '    profile: home',
    '    "we\\u001bird": 1',
    '  home: nothing',
    'families:',
    '  m: 3',
    'trusted_origins: [https://a.example, nonsense]',
    'text_model:',
  ]
  const project = '{\n  "quiet": "yes",\n  "max_retries": 2.5\n}'
  expect(await failure({ user: user.join('\n'), project })).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    HOME/project/.modelgaterc:2: quiet must be true or false, not "yes".
    HOME/project/.modelgaterc:3: max_retries must be a whole number from 0 to 100, not 2.5.
    HOME/.config/modelgate/config.yaml:1: "base-url" is not a setting. Did you mean base_url?
    HOME/.config/modelgate/config.yaml:2: timout is not a setting. Did you mean timeout?
    HOME/.config/modelgate/config.yaml:3: timeout must be a number of seconds greater than 0, not "5".
    HOME/.config/modelgate/config.yaml:4: retry must be one of never, safe, always, not "perhaps".
    HOME/.config/modelgate/config.yaml:12: families.m must be the name of a family, none, or a mapping of limits, not 3.
    HOME/.config/modelgate/config.yaml:13: trusted_origins (item 2) must be an origin such as https://gateway.example, not "nonsense".
    HOME/.config/modelgate/config.yaml:14: text_model has no value.
    HOME/.config/modelgate/config.yaml:7: profiles.work.idle_timeout must be a number of seconds greater than 0, not -1.
    HOME/.config/modelgate/config.yaml:8: profiles.work.profile cannot be set in a profile.
    HOME/.config/modelgate/config.yaml: profiles.work."we\\u001bird" is not a setting.
    HOME/.config/modelgate/config.yaml:10: profiles.home must be a mapping of settings, not text."
  `)
})

test('a key in a configuration file is refused without being repeated', async () => {
  const message = await failure({ user: 'api_key: sk-0123456789', project: 'api-key: sk-0123456789' })
  expect(message).not.toContain('sk-0')
  expect(message).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    HOME/project/.modelgaterc:1: "api-key" is not a setting: keys do not belong in configuration files.
    HOME/.config/modelgate/config.yaml:1: api_key is not a setting: keys do not belong in configuration files.
    hint: Set MODELGATE_API_KEY, or name a file or a command with api_key_file or api_key_command."
  `)
})

test.each([
  ['.json', '{"timeout": 5,}', ':1:15: not valid JSON: expected double-quoted property name.'],
  ['.json', '{"timeout": sk-0123456789}', ':1:13: not valid JSON: expected a value.'],
  [
    '.json',
    '{\n  "timeout": 5\n  "retry": "safe"\n}',
    ':3:3: not valid JSON: expected "," or "}" after property value.',
  ],
  ['.json', '{"__proto__": {"quiet": true}}', ': "__proto__" is not allowed as a name.'],
  ['.json', '{"families": {"constructor": "x"}}', ': "constructor" is not allowed as a name.'],
  ['.json', '{"$import": ["./other.js"]}', noImport],
  ['.json', '[1, 2]', ': the file must be a mapping of settings, not a list.'],
  [
    '.yaml',
    'timeout: 5\n\tretry: safe',
    ':2:1: not valid YAML: tab characters must not be used in indentation.',
  ],
  ['.yaml', 'timeout: *sk-0123456789', ':1:11: not valid YAML: unidentified alias.'],
  ['.yaml', 'timeout: !<sk-0123456789> 5', ':1:10: not valid YAML: unknown scalar tag.'],
  ['.yaml', 'timeout: 5\ntimeout: 6', ':2:1: not valid YAML: duplicated mapping key.'],
  ['.yaml', 'timeout: !!js/function "f"', ':1:10: not valid YAML: unknown scalar tag.'],
  ['.yaml', '<<: { timeout: 5 }', ':1: "<<" is not a setting.'],
  ['.yaml', 'timeout: 5\n---\ntimeout: 6', ': more than one YAML document.'],
  ['.yaml', '__proto__: { quiet: true }', ':1:1: not valid YAML: "__proto__" is not allowed as a name.'],
  ['.yaml', '$import: ../../etc/settings.json', noImport],
  ['.yaml', 'just words', ': the file must be a mapping of settings, not text.'],
  ['.yaml', '"\u0000"', ':1:2: not valid YAML: null byte is not allowed in input.'],
])('a %s file that holds %j', async (extension, content, problem) => {
  expect(await failure({ files: { [`project/.modelgaterc${extension}`]: content } })).toBe(
    `2 config_invalid (config)\nHOME/project/.modelgaterc${extension}${problem}`,
  )
})

test.each([
  ['{"modelgate": {"$import": "./x.js"}, "constructor": 1}', ': "$import" is not supported'],
  ['{"modelgate": "on"}', ': the file must be a mapping of settings, not text.'],
  ['{"modelgate": {"timeout": 5},}', ':1:30: not valid JSON'],
])('settings in a package.json are held to the same rules: %s', async (content, problem) => {
  expect(await failure({ files: { 'project/package.json': content } })).toContain(
    `HOME/project/package.json${problem}`,
  )
})

test('and the rest of it is not', async () => {
  const theirs = '{"__proto__": 1, "$import": "./x.js", "modelgate": {"timeout": 5}}'
  const place = configPlace({ files: { 'project/package.json': theirs } })
  expect((await resolveSettings(place.context)).timeout.value).toBe(5)
})

test.each([
  ['settings', (index: number) => `setting_${index}: 1`],
  ['profiles', (index: number) => (index === 0 ? 'profiles:' : `  p${index}: 1`)],
])('a file with thousands of wrong %s gives a short answer soon', async (_, lineOf) => {
  const lines = Array.from({ length: 50_000 }, (_, index) => lineOf(index))
  const message = await failure({ user: lines.join('\n') })
  expect(message.split('\n')).toHaveLength(22)
  expect(message).toMatch('… and more.')
})
