import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace } from '../support/config-place.ts'
import { plantTraps } from '../support/config-traps.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const levels = ['project/a/b/c', 'project/a/b', 'project/a', 'project']

test.each([
  ['no file to read', {}],
  ['a project file in the midst of the traps', { files: { 'project/a/b/c/.modelgaterc': 'text_model: m' } }],
  ['a project file above the traps', { project: 'text_model: m' }],
  ['a user file', { user: 'text_model: m\napi_key_command: printf %s the-key' }],
])('nothing in the working directory or above is run: %s', async (_, content) => {
  const place = configPlace({ files: { 'project/a/b/c/x': '' }, env: { PATH: '/usr/bin:/bin' }, ...content })
  const folders = levels.map((level) => join(place.home, level))
  const traps = plantTraps(folders, temporaryFolder())
  // cosmiconfig looks for its meta configuration in the real working directory.
  const before = process.cwd()
  const context = { ...place.context, cwd: folders[0] ?? '' }
  process.chdir(context.cwd)
  try {
    const settings = await resolveSettings(context)
    await settings.apiKey().catch(() => {})
    expect(settings.baseUrl.value).toBeUndefined()
  } finally {
    process.chdir(before)
  }
  expect(traps.sprung()).toEqual([])
})

test('the traps do spring for whoever walks in: cosmiconfig itself does, from either folder', async () => {
  const place = configPlace({ files: { 'project/inner/x': '' } })
  const folders = [join(place.project, 'inner'), place.project]
  const traps = plantTraps(folders, temporaryFolder())
  const { cosmiconfig } = await import('cosmiconfig')
  const before = process.cwd()
  try {
    for (const folder of folders) {
      process.chdir(folder)
      await cosmiconfig('modelgate')
        .search(folder)
        .catch(() => {})
    }
  } finally {
    process.chdir(before)
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
  expect(key.value).toBe('own-key-0123')
  expect(traps.sprung()).toEqual([])
})
