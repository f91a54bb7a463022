import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { familyCalled } from '../../src/contract/families.ts'
import { settingNames, settingTable, type SettingFlags } from '../../src/config/setting-table.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'
import { testContext } from '../support/test-context.ts'

test('without any file, variable or flag every value is the default', async () => {
  const settings = await resolveSettings(configPlace().context)
  expect(settingNames.map((name) => settings[name].source)).toEqual(settingNames.map(() => 'default'))
  const values = settingNames.map((name) => [name, settings[name].value] as const)
  expect(Object.fromEntries(values.filter(([, value]) => value !== undefined))).toEqual({
    allowHttp: false,
    connectTimeout: 10,
    downloadHeaders: {},
    families: {},
    headers: {},
    history: 'full',
    idempotencyHonoured: false,
    idleTimeout: 60,
    maxRetries: 2,
    noStdin: false,
    pollInterval: 2,
    prices: {},
    profile: 'default',
    progressTimeout: 300,
    quiet: false,
    render: 'auto',
    retry: 'safe',
    trustedOrigins: [],
  })
})

type Content = ConfigPlaceContent & { readonly flags?: SettingFlags }

/** What each place says of one setting, the nearest first, and where its value is from then. */
const places: readonly (readonly [Content, value: number, source: string])[] = [
  [{ flags: { maxRetries: '1' } }, 1, 'flag --max-retries'],
  [{ env: { MODELGATE_MAX_RETRIES: '3' } }, 3, 'environment MODELGATE_MAX_RETRIES'],
  [{ project: 'max_retries: 4' }, 4, 'project file HOME/project/.modelgaterc'],
  [
    { user: 'profiles: { default: { max_retries: 5 } }' },
    5,
    'user file HOME/.config/modelgate/config.yaml, profile default',
  ],
  [{ user: 'max_retries: 6' }, 6, 'user file HOME/.config/modelgate/config.yaml'],
]
// Every pair is compared, so that no order is left to luck.
const pairs = places.flatMap(([winner, value, source], at) =>
  places.slice(at + 1).map(([loser, , other]) => [source, other, winner, loser, value] as const),
)

test.each(pairs)('%s wins over %s', async (source, _, winner, loser, value) => {
  const user = [winner.user, loser.user].join('\n')
  const { flags, ...content } = { ...loser, ...winner }
  const place = configPlace({ ...content, user })
  const { maxRetries } = await resolveSettings(place.context, flags)
  expect([maxRetries.value, place.scrub(maxRetries.source)]).toEqual([value, source])
})

test('each setting is read from its own name in files and from its own variable', async () => {
  const same = (value: string) => [value, value, value] as const
  const number = (value: number) => [String(value), String(value), value] as const
  /** As it is written in a file and in a variable, if it has one, and what is made of it. */
  const samples: Record<string, readonly [file: string, variable: string, value: unknown]> = {
    base_url: ['https://a.example/v1', 'https://a.example/v1', new URL('https://a.example')],
    profile: same('default'),
    text_model: same('t'),
    image_model: same('i'),
    video_model: same('v'),
    api_key_file: same('/k'),
    api_key_command: same('pass show gate'),
    trusted_origins: ['["https://a.example/x"]', 'https://a.example, ', ['https://a.example']],
    connect_timeout: number(1.5),
    first_byte_timeout: number(2),
    idle_timeout: number(3),
    progress_timeout: number(4),
    timeout: number(5),
    poll_interval: number(0.5),
    max_retries: number(0),
    retry: same('never'),
    idempotency_honoured: ['true', 'yes', true],
    ca_file: same('/ca.pem'),
    allow_http: ['true', '1', true],
    output_dir: same('/out'),
    families: ['{ my-model: image-model-a }', '', { 'my-model': familyCalled('image-model-a') }],
    prices: ['{ m: { image: 0.04 } }', '', { m: { currency: 'USD', image: 0.04 } }],
    headers: ['{ X-Tenant: blue }', 'X-Tenant: blue', { 'x-tenant': 'blue' }],
    download_headers: ['{ "https://a.example": { x: y } }', '', { 'https://a.example': { x: 'y' } }],
    quiet: ['true', 'on', true],
    no_stdin: ['true', '1', true],
    render: same('never'),
    queue: same('redis://u:p@h/2'),
    store: same('s3://bucket/a'),
    history: same('off'),
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
    const value = samples[file]?.[2]
    expect([name, fromFile[name].value, fromFile[name].level]).toEqual([name, value, 'user'])
    const { value: found, source } = fromEnvironment[name]
    const expected = variable === undefined ? [found, source] : [value, `environment ${variable}`]
    expect([name, found, source]).toEqual([name, ...expected])
  }
})

test('--model is the model of whatever the command makes', async () => {
  const { context } = configPlace({ env: { MODELGATE_TEXT_MODEL: 'other' } })
  const { textModel, imageModel, videoModel } = await resolveSettings(context, { model: 'm' })
  expect([textModel.value, imageModel.value, videoModel.value]).toEqual(['m', 'm', 'm'])
})

test('a relative path starts at the folder of the file, or where the command was called; ~ is the home directory', async () => {
  const of = async (name: 'apiKeyFile' | 'caFile' | 'outputDir' | 'store', content: Content) => {
    const place = configPlace(content)
    return place.scrub(String((await resolveSettings(place.context, content.flags))[name].value))
  }
  expect(await of('apiKeyFile', { user: 'api_key_file: key' })).toBe('HOME/.config/modelgate/key')
  expect(await of('caFile', { user: 'ca_file: ~/ca.pem' })).toBe('HOME/ca.pem')
  expect(await of('outputDir', { project: 'output_dir: art/new' })).toBe('HOME/project/art/new')
  expect(await of('caFile', { flags: { caFile: 'here' } })).toBe('HOME/project/here')
  expect(await of('store', { user: 'store: shared' })).toBe('HOME/.config/modelgate/shared')
  expect(await of('store', { env: { MODELGATE_STORE: 'shared' } })).toBe('HOME/project/shared')
  // An address stays as it is.
  expect(await of('store', { user: 'store: s3://bucket/~/a' })).toBe('s3://bucket/~/a')
  expect(await of('store', { env: { MODELGATE_STORE: 'S3://bucket' } })).toBe('S3://bucket')
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
  ['no home', { home: '' }],
  ['a home that does not exist', { home: '/nowhere/at/all' }],
  ['a configuration folder that is a file', { home: '/nowhere', env: { MODELGATE_CONFIG_DIR: '/dev/null' } }],
  ['a working directory that is gone', { home: '/nowhere', cwd: '/gone/away' }],
])('runs without configuration: %s', async (_, overrides) => {
  const settings = await resolveSettings(testContext({ cwd: '/', ...overrides }))
  expect(settings.retry.source).toBe('default')
})

const user = 'user file HOME/.config/modelgate/config.yaml'

test.each<[string, Content, value: string, source: string]>([
  ['nothing is set', {}, 'full', 'default'],
  ['CI is set', { env: { CI: 'true' } }, 'off', 'default where CI is set'],
  ['CI is set to nothing', { env: { CI: '' } }, 'full', 'default'],
  [
    'a variable is set, too',
    { env: { CI: '1', MODELGATE_HISTORY: 'full' } },
    'full',
    'environment MODELGATE_HISTORY',
  ],
  ['the user says so', { env: { CI: '1' }, user: 'history: full' }, 'full', user],
  ['a project lowers it', { project: 'history: off' }, 'off', 'project file HOME/project/.modelgaterc'],
])('what the log keeps where %s', async (_, content, value, source) => {
  const place = configPlace(content)
  const { history } = await resolveSettings(place.context)
  expect([history.value, place.scrub(history.source)]).toEqual([value, source])
})

test('a project file cannot have more of a call recorded than without it', async () => {
  const place = configPlace({ env: { CI: '1' }, project: 'history: full' })
  expect(place.scrub(await failureOf(() => resolveSettings(place.context)))).toContain(
    'history: full (project file HOME/project/.modelgaterc) would record more of a call than off (default where CI is set).',
  )
})
