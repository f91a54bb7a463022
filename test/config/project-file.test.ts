import { chmodSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf } from '../support/config-place.ts'

const modelOf = async (place: ReturnType<typeof configPlace>, cwd = place.project) => {
  const { textModel } = await resolveSettings({ ...place.context, cwd })
  return [textModel.value, place.scrub(textModel.source)]
}

test.each([
  ['.modelgaterc', 'text_model: m'],
  ['.modelgaterc', '{"text_model": "m"}'],
  ['.modelgaterc', '{text_model: m}'],
  ['.modelgaterc.json', '\uFEFF{"text_model": "m"}'],
  ['.modelgaterc.yaml', 'text_model: m'],
  ['.modelgaterc.yml', 'text_model: m'],
  ['modelgate.config.json', '{"text_model": "m"}'],
  ['modelgate.config.yaml', 'text_model: m'],
  ['modelgate.config.yml', 'text_model: m'],
  ['.config/modelgaterc.json', '{"text_model": "m"}'],
  ['.config/modelgaterc.yaml', 'text_model: m'],
  ['.config/modelgaterc.yml', 'text_model: m'],
  ['package.json', '{"name": "x", "modelgate": {"text_model": "m"}}'],
])('%s holding %j is found', async (name, content) => {
  const place = configPlace({ files: { [`project/${name}`]: content } })
  expect(await modelOf(place)).toEqual(['m', `project file HOME/project/${name}`])
})

test('the nearest folder wins, and in it the first place', async () => {
  const place = configPlace({
    files: {
      'project/.modelgaterc': 'text_model: outer',
      'project/inner/package.json': '{"modelgate": {"text_model": "package"}}',
      'project/inner/.modelgaterc.yaml': 'text_model: inner',
    },
  })
  expect((await modelOf(place, join(place.project, 'inner')))[0]).toBe('inner')
})

test.each([
  ['an empty file', { 'project/inner/.modelgaterc': '' }],
  ['a file of comments', { 'project/inner/.modelgaterc.yaml': '# later\n' }],
  [
    'a package.json without settings',
    { 'project/inner/package.json': '{"devDependencies": {"modelgate": "^1.0.0"}}' },
  ],
  ['a broken package.json of others', { 'project/inner/package.json': '{"name": "modelgate",' }],
  ['a folder with the name', { 'project/inner/.modelgaterc/readme': '' }],
])('%s does not end the search', async (_, files) => {
  const place = configPlace({ files: { 'project/.modelgaterc': 'text_model: outer', ...files } })
  expect((await modelOf(place, join(place.project, 'inner')))[0]).toBe('outer')
})

test('the search ends at the root of the repository, be it a folder or a worktree', async () => {
  for (const git of ['project/repository/.git/HEAD', 'project/repository/.git']) {
    const place = configPlace({
      project: 'text_model: outside',
      files: { [git]: '', 'project/repository/src/x': '' },
    })
    expect((await modelOf(place, join(place.project, 'repository/src')))[0]).toBeUndefined()
  }
})

test('the search ends at the home directory, also when that is reached by a link', async () => {
  const place = configPlace({ files: { '.modelgaterc': 'text_model: above', 'home/project/x': '' } })
  symlinkSync(join(place.home, 'home'), join(place.home, 'link'))
  const context = { ...place.context, cwd: join(place.home, 'home/project') }
  expect(
    (await resolveSettings({ ...context, home: join(place.home, 'link') })).textModel.value,
  ).toBeUndefined()
  expect((await resolveSettings({ ...context, home: '/elsewhere' })).textModel.value).toBe('above')
})

test('a folder above that anyone can write to is passed over', async () => {
  const place = configPlace({ files: { 'open/.modelgaterc': 'text_model: planted', 'open/mine/x': '' } })
  chmodSync(join(place.home, 'open'), 0o1777)
  expect((await modelOf(place, join(place.home, 'open/mine')))[0]).toBeUndefined()
  expect((await modelOf(place, join(place.home, 'open')))[0]).toBe('planted')
})

test('what never ends or is far too large is not read', async () => {
  const device = configPlace()
  symlinkSync('/dev/zero', device.projectFile)
  const large = configPlace({ project: `# ${'x'.repeat(1_048_576)}` })
  const failures = [device, large].map(async (place) =>
    place.scrub(await failureOf(() => resolveSettings(place.context))),
  )
  expect(await Promise.all(failures)).toMatchInlineSnapshot(`
    [
      "2 config_invalid (config)
    HOME/project/.modelgaterc: not a regular file.",
      "2 config_invalid (config)
    HOME/project/.modelgaterc: larger than 1 MiB.",
    ]
  `)
})

test.skipIf(process.getuid?.() === 0)('a file that may not be read is named', async () => {
  const place = configPlace({ user: 'timeout: 1' })
  chmodSync(place.userFile, 0)
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toMatch(
    'HOME/.config/modelgate/config.yaml: the configuration file cannot be read.',
  )
})

test('what could lead a key astray, or make a request be paid for twice, is closed to a project file', async () => {
  const place = configPlace({
    project: [
      'api_key_file: /etc/passwd',
      'api_key_command: curl https://collector.example',
      'trusted_origins: [https://collector.example]',
      'allow_http: true',
      'ca_file: collector.pem',
      'idempotency_honoured: true',
      'queue: redis://collector.example',
      'store: s3://collector',
      'headers: { X-Tenant: blue }',
      'prices: { gpt-5.5: { input: 0, output: 0 } }',
      'profiles: { default: { api_key_command: steal } }',
    ].join('\n'),
  })
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    HOME/project/.modelgaterc:1: api_key_file cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:2: api_key_command cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:3: trusted_origins cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:4: allow_http cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:5: ca_file cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:6: idempotency_honoured cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:7: queue cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:8: store cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:9: headers cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:10: prices cannot be set in a project file, which may come from others.
    HOME/project/.modelgaterc:11: profiles can only be set in your own configuration file.
    hint: Set it in your own configuration file, HOME/.config/modelgate/config.yaml, or in the environment."
  `)
})

test('a base URL in a project file is refused unless its origin is trusted', async () => {
  const project = 'base_url: https://collector.example/v1'
  const place = configPlace({
    project,
    user: 'trusted_origins: ["https://gateway.example", "http://collector.example"]',
  })
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    The base URL (project file HOME/project/.modelgaterc) points to https://collector.example, which you have not trusted with your key.
    hint: If it is yours, add https://collector.example to trusted_origins in HOME/.config/modelgate/config.yaml, or set MODELGATE_TRUSTED_ORIGINS=https://collector.example; otherwise choose another address with --base-url."
  `)
})

test('a clear-text base URL that a project file names is refused although its origin is trusted', async () => {
  const place = configPlace({
    project: 'base_url: http://collector.example',
    user: 'trusted_origins: [http://collector.example]',
  })
  expect(await failureOf(() => resolveSettings(place.context))).toContain('in clear text')
})

test.each([
  ['the user file', { user: 'trusted_origins: [https://gateway.example:8443]' }],
  ['a profile', { user: 'profiles: { default: { trusted_origins: [https://gateway.example:8443/v1] } }' }],
  [
    'the environment',
    { env: { MODELGATE_TRUSTED_ORIGINS: 'https://other.example,https://gateway.example:8443' } },
  ],
  [
    'either of both',
    {
      env: { MODELGATE_TRUSTED_ORIGINS: 'https://other.example' },
      user: 'trusted_origins: [https://gateway.example:8443]',
    },
  ],
])('a base URL in a project file is taken when %s trusts its origin', async (_, content) => {
  const place = configPlace({ project: 'base_url: https://gateway.example:8443/proxy/v1', ...content })
  expect((await resolveSettings(place.context)).baseUrl.value?.href).toBe(
    'https://gateway.example:8443/proxy',
  )
})

test.each([
  'https://gateway.example:444',
  'http://gateway.example',
  'https://gateway.example.evil.example',
  'https://gateway.example@evil.example',
])('trust in https://gateway.example is not trust in %s', async (baseUrl) => {
  const place = configPlace({
    project: `base_url: ${baseUrl}`,
    env: { MODELGATE_TRUSTED_ORIGINS: 'https://gateway.example', MODELGATE_ALLOW_HTTP: 'true' },
  })
  expect(await failureOf(() => resolveSettings(place.context))).toMatch('2 config_invalid')
})

test('an untrusted base URL in a project file does not matter when another one is used', async () => {
  const place = configPlace({ project: 'base_url: https://collector.example' })
  const { baseUrl } = await resolveSettings(place.context, { baseUrl: 'https://gateway.example' })
  expect(baseUrl.value?.host).toBe('gateway.example')
})

test('a project file cannot have a request sent more often than without it', async () => {
  const place = configPlace({ project: 'retry: always\nmax_retries: 5' })
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    max_retries: 5 (project file HOME/project/.modelgaterc) would send requests more often than 2 (default). A project file may come from others, so it can only lower max_retries: set it in HOME/.config/modelgate/config.yaml, or as MODELGATE_MAX_RETRIES, or use --max-retries.
    retry: always (project file HOME/project/.modelgaterc) would send requests more often than safe (default). A project file may come from others, so it can only lower retry: set it in HOME/.config/modelgate/config.yaml, or as MODELGATE_RETRY, or use --retry."
  `)
})

test.each([
  ['less than the default', 'retry: never\nmax_retries: 1', {}, ['never', 1]],
  ['the default itself', 'retry: safe\nmax_retries: 2', {}, ['safe', 2]],
  [
    'less than the user file',
    'retry: safe\nmax_retries: 5',
    { user: 'retry: always\nmax_retries: 6' },
    ['safe', 5],
  ],
  [
    'more, but not where the environment decides',
    'retry: always\nmax_retries: 9',
    { env: { MODELGATE_RETRY: 'safe', MODELGATE_MAX_RETRIES: '1' } },
    ['safe', 1],
  ],
])('a project file may ask for repetition: %s', async (_, project, content, expected) => {
  const { retry, maxRetries } = await resolveSettings(configPlace({ project, ...content }).context)
  expect([retry.value, maxRetries.value]).toEqual(expected)
})

test.each(['https://collector.example', 'http://192.0.2.1', 'not a URL'])(
  'the sandbox does not care for the base URL %s',
  async (url) => {
    const place = configPlace({ project: `base_url: ${url}` })
    expect((await resolveSettings(place.context, { sandbox: true })).baseUrl.value).toBeUndefined()
    const flags = { sandbox: true, baseUrl: url }
    expect((await resolveSettings(configPlace().context, flags)).baseUrl.value).toBeUndefined()
    expect(await failureOf(() => resolveSettings(place.context, { sandbox: false }))).toMatch('2 config')
  },
)
