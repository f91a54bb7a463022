import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveSettings, type SettingFlags } from '../../src/config/settings.ts'
import { familyCalled } from '../../src/contract/families.ts'
import { settingNames, settingTable } from '../../src/config/setting-table.ts'
import { configPlace, failureOf } from '../support/config-place.ts'
import { testContext } from '../support/test-context.ts'

test('without any file, variable or flag every value is the default', async () => {
  const settings = await resolveSettings(configPlace().context)
  expect(settingNames.map((name) => settings[name].source)).toEqual(settingNames.map(() => 'default'))
  expect(Object.fromEntries(settingNames.map((name) => [name, settings[name].value]))).toMatchInlineSnapshot(`
    {
      "allowHttp": false,
      "apiKeyCommand": undefined,
      "apiKeyFile": undefined,
      "baseUrl": undefined,
      "baseUrls": undefined,
      "caFile": undefined,
      "connectTimeout": 10,
      "downloadHeaders": {},
      "families": {},
      "firstByteTimeout": undefined,
      "headers": {},
      "history": "full",
      "idempotencyHonoured": false,
      "idleTimeout": 60,
      "imageModel": undefined,
      "maxRetries": 2,
      "noStdin": false,
      "outputDir": undefined,
      "pollInterval": 2,
      "prices": {},
      "profile": "default",
      "progressTimeout": 300,
      "queue": undefined,
      "quiet": false,
      "render": "auto",
      "retry": "safe",
      "store": undefined,
      "textModel": undefined,
      "timeout": undefined,
      "trustedOrigins": [],
      "videoModel": undefined,
    }
  `)
})

/** Each row: what each place says of one setting. Every pair of places is compared, so that no order is left to luck. */
const everywhere = {
  flag: { maxRetries: '1' } satisfies SettingFlags,
  environment: { MODELGATE_MAX_RETRIES: '3' },
  project: 'max_retries: 4',
  profile: 'profiles: { default: { max_retries: 5 } }',
  user: 'max_retries: 6',
}
type PlaceName = keyof typeof everywhere
const order: PlaceName[] = ['flag', 'environment', 'project', 'profile', 'user']
const expected: Record<PlaceName, [number, string]> = {
  flag: [1, 'flag --max-retries'],
  environment: [3, 'environment MODELGATE_MAX_RETRIES'],
  project: [4, 'project file HOME/project/.modelgaterc'],
  profile: [5, 'user file HOME/.config/modelgate/config.yaml, profile default'],
  user: [6, 'user file HOME/.config/modelgate/config.yaml'],
}
const pairs = order.flatMap((winner, index) =>
  order.slice(index + 1).map((loser) => [winner, loser] as const),
)

test.each(pairs)('%s wins over %s', async (winner, loser) => {
  const given = (name: PlaceName) => name === winner || name === loser
  const user = [given('user') ? everywhere.user : '', given('profile') ? everywhere.profile : ''].join('\n')
  const place = configPlace({
    user,
    project: given('project') ? everywhere.project : '',
    env: given('environment') ? everywhere.environment : {},
  })
  const { maxRetries } = await resolveSettings(place.context, given('flag') ? everywhere.flag : {})
  expect([maxRetries.value, place.scrub(maxRetries.source)]).toEqual(expected[winner])
})

test('each setting is read from its own name in files and from its own variable', async () => {
  const samples: Record<string, [string, string, unknown]> = {
    base_url: ['https://a.example/v1', 'https://a.example/v1', new URL('https://a.example')],
    profile: ['default', 'default', 'default'],
    text_model: ['t', 't', 't'],
    image_model: ['i', 'i', 'i'],
    video_model: ['v', 'v', 'v'],
    api_key_file: ['/k', '/k', '/k'],
    api_key_command: ['pass show gate', 'pass show gate', 'pass show gate'],
    trusted_origins: ['["https://a.example/x"]', 'https://a.example, ', ['https://a.example']],
    connect_timeout: ['1.5', '1.5', 1.5],
    first_byte_timeout: ['2', '2', 2],
    idle_timeout: ['3', '3', 3],
    progress_timeout: ['4', '4', 4],
    timeout: ['5', '5', 5],
    poll_interval: ['0.5', '0.5', 0.5],
    max_retries: ['0', '0', 0],
    retry: ['never', 'never', 'never'],
    idempotency_honoured: ['true', 'yes', true],
    ca_file: ['/ca.pem', '/ca.pem', '/ca.pem'],
    allow_http: ['true', '1', true],
    output_dir: ['/out', '/out', '/out'],
    families: ['{ my-model: image-model-a }', '', { 'my-model': familyCalled('image-model-a') }],
    prices: ['{ m: { image: 0.04 } }', '', { m: { currency: 'USD', image: 0.04 } }],
    headers: ['{ X-Tenant: blue }', 'X-Tenant: blue', { 'x-tenant': 'blue' }],
    download_headers: ['{ "https://a.example": { x: y } }', '', { 'https://a.example': { x: 'y' } }],
    quiet: ['true', 'on', true],
    no_stdin: ['true', '1', true],
    render: ['never', 'never', 'never'],
    queue: ['redis://u:p@h/2', 'redis://u:p@h/2', 'redis://u:p@h/2'],
    store: ['s3://bucket/a', 's3://bucket/a', 's3://bucket/a'],
    history: ['off', 'off', 'off'],
  }
  // It stands in the place of `base_url`.
  const names = settingNames.filter((name) => name !== 'baseUrls')
  expect(Object.keys(samples)).toEqual(names.map((name) => settingTable[name].file))
  const user = Object.entries(samples).map(([name, [written]]) => `${name}: ${written}`)
  const fromFile = await resolveSettings(configPlace({ user: user.join('\n') }).context)
  const env = names.map((name) => [settingTable[name].env, samples[settingTable[name].file]?.[1]])
  const fromEnvironment = await resolveSettings(configPlace({ env: Object.fromEntries(env) }).context)
  for (const name of names) {
    const { file, env: variable } = settingTable[name]
    expect([name, fromFile[name].value, fromFile[name].level]).toEqual([name, samples[file]?.[2], 'user'])
    if (variable === undefined) continue
    expect([name, fromEnvironment[name].value, fromEnvironment[name].source]).toEqual([
      name,
      samples[file]?.[2],
      `environment ${variable}`,
    ])
  }
})

test('--model is the model of whatever the command makes', async () => {
  const settings = await resolveSettings(configPlace({ env: { MODELGATE_TEXT_MODEL: 'other' } }).context, {
    model: 'm',
  })
  expect([settings.textModel, settings.imageModel, settings.videoModel].map((model) => model.value)).toEqual([
    'm',
    'm',
    'm',
  ])
})

test('a relative path starts at the folder of the file, or where the command was called; ~ is the home directory', async () => {
  const place = configPlace({
    user: 'api_key_file: key\nca_file: ~/ca.pem',
    project: 'output_dir: pictures/new',
  })
  const settings = await resolveSettings(place.context)
  expect(settings.apiKeyFile.value).toBe(join(place.home, '.config/modelgate/key'))
  expect(settings.caFile.value).toBe(join(place.home, 'ca.pem'))
  expect(settings.outputDir.value).toBe(join(place.project, 'pictures/new'))
  expect((await resolveSettings(place.context, { caFile: 'here' })).caFile.value).toBe(
    join(place.project, 'here'),
  )
})

test('a store is a folder, or an address that stays as it is', async () => {
  const store = async (user: string, given = '') => {
    const place = configPlace({ user, env: { MODELGATE_STORE: given } })
    const found = (await resolveSettings(place.context)).store.value
    return place.scrub(String(found))
  }
  expect(await store('store: shared')).toBe('HOME/.config/modelgate/shared')
  expect(await store('store: ~/shared')).toBe('HOME/shared')
  expect(await store('', 'shared')).toBe('HOME/project/shared')
  expect(await store('store: s3://bucket/~/a')).toBe('s3://bucket/~/a')
  expect(await store('', 'S3://bucket')).toBe('S3://bucket')
})

test('an empty variable counts as unset', async () => {
  const { context } = configPlace({
    user: 'timeout: 7',
    env: { MODELGATE_TIMEOUT: '', MODELGATE_BASE_URL: '' },
  })
  const settings = await resolveSettings(context)
  expect([settings.timeout.value, settings.baseUrl.value]).toEqual([7, undefined])
})

test('all wrong flags and variables are reported at once', async () => {
  const place = configPlace({
    env: {
      MODELGATE_TIMEOUT: '10s',
      MODELGATE_QUIET: 'constructor',
      MODELGATE_TRUSTED_ORIGINS: 'https://a.example b',
    },
  })
  const flags = {
    retry: 'sometimes',
    maxRetries: '-1',
    connectTimeout: 0,
    idleTimeout: '1e999',
    model: '',
    baseUrl: 'a\nb',
  }
  expect(await failureOf(() => resolveSettings(place.context, flags))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    --base-url contains a line break or another control character.
    --model must be text, not empty.
    --connect-timeout must be a number of seconds greater than 0, not 0.
    --idle-timeout must be a number of seconds greater than 0, not "1e999".
    --max-retries must be a whole number from 0 to 100, not -1.
    --retry must be one of never, safe, always, not "sometimes".
    MODELGATE_TRUSTED_ORIGINS (item 2) must be an origin such as https://gateway.example, not "b".
    MODELGATE_TIMEOUT must be a number of seconds greater than 0, not "10s".
    MODELGATE_QUIET must be true or false, not "constructor"."
  `)
})

test('a secret that ended up in the wrong variable is not repeated', async () => {
  const secret = 'sk-0123456789abcdefghijklmnop'
  for (const name of settingNames) {
    const { env } = settingTable[name]
    if (env === undefined || name === 'profile') continue
    const outcome = await failureOf(() =>
      resolveSettings(configPlace({ env: { [env]: secret } }).context),
    ).catch(String)
    expect(outcome).not.toContain(secret)
  }
})

test.each([
  ['no home', { home: '', cwd: '/' }],
  ['a home that does not exist', { home: '/nowhere/at/all', cwd: '/' }],
  [
    'a configuration folder that is a file',
    { home: '/nowhere', cwd: '/', env: { MODELGATE_CONFIG_DIR: '/dev/null' } },
  ],
  ['a working directory that is gone', { home: '/nowhere', cwd: '/gone/away' }],
])('runs without configuration: %s', async (_, overrides) => {
  expect((await resolveSettings(testContext(overrides))).retry.source).toBe('default')
})

test.each<[string, Record<string, string>, string, string, [string, string]]>([
  ['nothing is set', {}, '', '', ['full', 'default']],
  ['CI is set', { CI: 'true' }, '', '', ['off', 'default where CI is set']],
  ['CI is set to nothing', { CI: '' }, '', '', ['full', 'default']],
  [
    'a variable is set, too',
    { CI: '1', MODELGATE_HISTORY: 'full' },
    '',
    '',
    ['full', 'environment MODELGATE_HISTORY'],
  ],
  [
    'the user says so',
    { CI: '1' },
    'history: full',
    '',
    ['full', 'user file HOME/.config/modelgate/config.yaml'],
  ],
  ['a project lowers it', {}, '', 'history: off', ['off', 'project file HOME/project/.modelgaterc']],
])('what the log keeps where %s', async (_, env, user, project, expected) => {
  const place = configPlace({ env, user, project })
  const { history } = await resolveSettings(place.context)
  expect([history.value, place.scrub(history.source)]).toEqual(expected)
})

test('a project file cannot have more of a call recorded than without it', async () => {
  const place = configPlace({ env: { CI: '1' }, project: 'history: full' })
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toContain(
    'history: full (project file HOME/project/.modelgaterc) would record more of a call than off (default where CI is set).',
  )
})
