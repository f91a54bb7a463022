import { expect, test } from 'vitest'
import { configFolder, homeFolder, stateFolder } from '../../src/context/folders.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'

const ada = 'C:\\Users\\ada'
const xdg = (config: string, state: string) => ({ XDG_CONFIG_HOME: config, XDG_STATE_HOME: state })
const own = { MODELGATE_CONFIG_DIR: 'mine', MODELGATE_STATE_DIR: 'state', XDG_CONFIG_HOME: '/c' }
const windows = { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' }
const appData = `${ada}\\AppData`

test.each<[string, TestOverrides, config: string | undefined, state: string | undefined]>([
  ['the XDG defaults', { home: '/h' }, '/h/.config/modelgate', '/h/.local/state/modelgate'],
  ['the XDG variables', { home: '/h', env: xdg('/c', '/s') }, '/c/modelgate', '/s/modelgate'],
  [
    'relative XDG variables, which count for nothing',
    { home: '/h', env: xdg('c', 's') },
    '/h/.config/modelgate',
    '/h/.local/state/modelgate',
  ],
  [
    'variables that name the folders themselves',
    { home: '/h', cwd: '/project', env: own },
    '/project/mine',
    '/project/state',
  ],
  [
    'the folders of Windows',
    { home: ada, platform: 'win32', env: windows },
    'D:\\Roaming\\modelgate',
    'D:\\Local\\modelgate\\State',
  ],
  [
    'Windows without variables',
    { home: ada, platform: 'win32' },
    `${appData}\\Roaming\\modelgate`,
    `${appData}\\Local\\modelgate\\State`,
  ],
  ['no home at all', { home: '' }, undefined, undefined],
])('the folders of configuration and state: %s', (_, overrides, config, state) => {
  const context = testContext(overrides)
  expect([configFolder(context), stateFolder(context)]).toEqual([config, state])
})

test('the working directory never replaces a missing home', () => {
  const repository = testContext({ home: '/repository', cwd: '/repository', env: { HOME: '' } })
  expect([homeFolder(repository), configFolder(repository)]).toEqual([undefined, undefined])
  const ofAda = testContext({ home: '/home/ada', cwd: '/home/ada', env: { HOME: '/home/ada' } })
  expect(homeFolder(ofAda)).toBe('/home/ada')
})
