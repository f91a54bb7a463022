import { expect, test } from 'vitest'
import { configFolder, homeFolder, stateFolder } from '../../src/config/paths.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'

test.each<[string, TestOverrides, string | undefined]>([
  ['the XDG defaults', { home: '/home/ada' }, '/home/ada/.config/modelgate'],
  ['the XDG variables', { home: '/home/ada', env: { XDG_CONFIG_HOME: '/c' } }, '/c/modelgate'],
  [
    'a relative XDG variable counts for nothing',
    { home: '/home/ada', env: { XDG_CONFIG_HOME: 'c' } },
    '/home/ada/.config/modelgate',
  ],
  [
    'MODELGATE_CONFIG_DIR is the folder itself',
    { home: '/home/ada', cwd: '/project', env: { MODELGATE_CONFIG_DIR: 'mine', XDG_CONFIG_HOME: '/c' } },
    '/project/mine',
  ],
  [
    'the folder of Windows',
    { home: 'C:\\Users\\ada', platform: 'win32', env: { APPDATA: 'D:\\Roaming' } },
    'D:\\Roaming\\modelgate',
  ],
  [
    'Windows without variables',
    { home: 'C:\\Users\\ada', platform: 'win32' },
    'C:\\Users\\ada\\AppData\\Roaming\\modelgate',
  ],
  ['no home at all', { home: '' }, undefined],
])('%s', (_, overrides, expected) => {
  expect(configFolder(testContext(overrides))).toBe(expected)
})

test('the working directory never replaces a missing home', () => {
  expect(homeFolder(testContext({ home: '/repository', cwd: '/repository' }))).toBeUndefined()
  expect(
    configFolder(testContext({ home: '/repository', cwd: '/repository', env: { HOME: '' } })),
  ).toBeUndefined()
  expect(homeFolder(testContext({ home: '/home/ada', cwd: '/home/ada', env: { HOME: '/home/ada' } }))).toBe(
    '/home/ada',
  )
})

test.each<[string, TestOverrides, string | undefined]>([
  ['the XDG default', { home: '/home/ada' }, '/home/ada/.local/state/modelgate'],
  ['the XDG variable', { home: '/home/ada', env: { XDG_STATE_HOME: '/s' } }, '/s/modelgate'],
  [
    'a relative XDG variable counts for nothing',
    { home: '/home/ada', env: { XDG_STATE_HOME: 's' } },
    '/home/ada/.local/state/modelgate',
  ],
  [
    'MODELGATE_STATE_DIR is the folder itself',
    { home: '/home/ada', cwd: '/project', env: { MODELGATE_STATE_DIR: 'mine', XDG_STATE_HOME: '/s' } },
    '/project/mine',
  ],
  [
    'Windows',
    { home: 'C:\\Users\\ada', platform: 'win32', env: { LOCALAPPDATA: 'D:\\Local' } },
    'D:\\Local\\modelgate\\State',
  ],
  [
    'Windows without variables',
    { home: 'C:\\Users\\ada', platform: 'win32' },
    'C:\\Users\\ada\\AppData\\Local\\modelgate\\State',
  ],
  ['no home at all', { home: '' }, undefined],
])('the state folder: %s', (_, overrides, expected) => {
  expect(stateFolder(testContext(overrides))).toBe(expected)
})
