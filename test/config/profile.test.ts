import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'

const user = `
base_url: https://main.example
profiles:
  work:
    base_url: https://work.example
    text_model: work-model
  home:
    text_model: home-model
`
const env = { MODELGATE_PROFILE: 'home' }
const [work, main] = ['https://work.example/', 'https://main.example/']

test.each<[string, object, ConfigPlaceContent, model: string | undefined, baseUrl: string | undefined]>([
  ['a flag', { profile: 'work' }, { env }, 'work-model', work],
  ['the environment', {}, { env, project: 'profile: work' }, 'home-model', main],
  ['the project file', {}, { project: 'profile: work' }, 'work-model', work],
  ['the user file itself', {}, { user: `profile: home\n${user}` }, 'home-model', main],
  ['nothing', {}, {}, undefined, main],
])('the profile is chosen by %s', async (_, flags, content, model, baseUrl) => {
  const settings = await resolveSettings(configPlace({ user, ...content }).context, flags)
  expect([settings.textModel.value, settings.baseUrl.value?.href]).toEqual([model, baseUrl])
})

test('an unknown profile is refused, and the known ones are named', async () => {
  const place = configPlace({ user })
  expect(await failureOf(() => resolveSettings(place.context, { profile: 'wrok' }))).toBe(
    '2 config_invalid (config)\nThere is no profile "wrok" (flag --profile).\nhint: Known profiles: default, work, home.',
  )
})

test('a profile for which only a key is kept is known', async () => {
  const { context } = configPlace({ credentials: { profiles: { lab: { api_key: 'k' } } } })
  expect((await resolveSettings(context, { profile: 'lab' })).profile.value).toBe('lab')
  await expect(resolveSettings(context, { profile: 'toString' })).rejects.toThrow('no profile')
})

test('a profile with a key source of its own is not given the key of another', async () => {
  const own = 'api_key_file: /main-key\nprofiles: { work: { api_key_command: print-work-key } }'
  const settings = await resolveSettings(configPlace({ user: own }).context, { profile: 'work' })
  expect([settings.apiKeyFile.value, settings.apiKeyCommand.value]).toEqual([undefined, 'print-work-key'])
})
