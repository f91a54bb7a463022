import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace } from '../support/config-place.ts'
import { plantTraps } from '../support/config-traps.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** In this as the real working directory: cosmiconfig looks for its meta configuration there. */
async function within<Value>(folder: string, action: () => Promise<Value>): Promise<Value> {
  const before = process.cwd()
  process.chdir(folder)
  return await action().finally(() => process.chdir(before))
}

test.each([
  ['no file to read', {}],
  ['a project file in the midst of the traps', { files: { 'project/a/b/c/.modelgaterc': 'text_model: m' } }],
  ['a project file above the traps', { project: 'text_model: m' }],
  ['a user file', { user: 'text_model: m\napi_key_command: printf %s the-key' }],
])('nothing in the working directory or above is run: %s', async (_, content) => {
  const place = configPlace({ files: { 'project/a/b/c/x': '' }, env: { PATH: '/usr/bin:/bin' }, ...content })
  const folders = ['a/b/c', 'a/b', 'a', ''].map((level) => join(place.project, level))
  const traps = plantTraps(folders, temporaryFolder())
  await within(folders[0]!, async () => {
    const settings = await resolveSettings({ ...place.context, cwd: folders[0]! })
    await settings.apiKey().catch(() => {})
  })
  expect(traps.sprung()).toEqual([])
})

test('the traps do spring for whoever walks in: cosmiconfig itself does, from either folder', async () => {
  const place = configPlace({ files: { 'project/inner/x': '' } })
  const folders = [join(place.project, 'inner'), place.project]
  const traps = plantTraps(folders, temporaryFolder())
  const { cosmiconfig } = await import('cosmiconfig')
  for (const folder of folders) {
    await within(folder, () => cosmiconfig('modelgate').search(folder)).catch(() => {})
  }
  expect(traps.sprung()).toEqual(expect.arrayContaining(['0-_config_config_js', '1-_modelgaterc_js']))
})

test('a command for the key finds none of the programs in the working directory', async () => {
  const place = configPlace({
    user: 'api_key_command: get-key || printf own-key-0123',
    env: { PATH: '.:node_modules/.bin:/usr/bin:/bin' },
  })
  const traps = plantTraps([place.project], temporaryFolder())
  const key = await (await resolveSettings(place.context)).apiKey()
  expect([key.value, traps.sprung()]).toEqual(['own-key-0123', []])
})
