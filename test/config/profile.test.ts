import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf } from '../support/config-place.ts'

const user = `
base_url: https://main.example
profiles:
  work:
    base_url: https://work.example
    text_model: work-model
  home:
    text_model: home-model
`

test.each([
  [
    'a flag',
    { profile: 'work' },
    { env: { MODELGATE_PROFILE: 'home' } },
    'work-model',
    'https://work.example/',
  ],
  [
    'the environment',
    {},
    { env: { MODELGATE_PROFILE: 'home' }, project: 'profile: work' },
    'home-model',
    'https://main.example/',
  ],
  ['the project file', {}, { project: 'profile: work' }, 'work-model', 'https://work.example/'],
  ['nothing', {}, {}, undefined, 'https://main.example/'],
])('the profile is chosen by %s', async (_, flags, content, model, baseUrl) => {
  const settings = await resolveSettings(configPlace({ user, ...content }).context, flags)
  expect([settings.textModel.value, settings.baseUrl.value?.href]).toEqual([model, baseUrl])
})

test('the user file itself can name the profile', async () => {
  const place = configPlace({ user: `profile: home\n${user}` })
  const settings = await resolveSettings(place.context)
  expect(settings.profile.value).toBe('home')
  expect(place.scrub(settings.textModel.source)).toBe(
    'user file HOME/.config/modelgate/config.yaml, profile home',
  )
})

test('an unknown profile is refused, and the known ones are named', async () => {
  const place = configPlace({ user })
  expect(await failureOf(() => resolveSettings(place.context, { profile: 'wrok' }))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    There is no profile "wrok" (flag --profile).
    hint: Known profiles: default, work, home."
  `)
})

test('a profile for which only a key is kept is known', async () => {
  const credentials = { profiles: { lab: { api_key: 'k' } } }
  const settings = await resolveSettings(configPlace({ credentials }).context, { profile: 'lab' })
  expect(settings.profile.value).toBe('lab')
  await expect(
    resolveSettings(configPlace({ credentials }).context, { profile: 'toString' }),
  ).rejects.toThrow('no profile')
})

test('a profile with a key source of its own is not given the key of another', async () => {
  const place = configPlace({
    user: 'api_key_file: /main-key\nprofiles: { work: { api_key_command: print-work-key } }',
  })
  const settings = await resolveSettings(place.context, { profile: 'work' })
  expect([settings.apiKeyFile.value, settings.apiKeyCommand.value]).toEqual([undefined, 'print-work-key'])
})
