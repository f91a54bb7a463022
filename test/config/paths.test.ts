import { expect, test } from 'vitest'
import { cacheFolder, configFolder, homeFolder, stateFolder } from '../../src/config/paths.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'

const folders = (overrides: TestOverrides) => {
  const context = testContext(overrides)
  return [configFolder(context), stateFolder(context), cacheFolder(context)]
}

test.each<[string, TestOverrides, (string | undefined)[]]>([
  [
    'the XDG defaults',
    { home: '/home/ada' },
    ['/home/ada/.config/modelgate', '/home/ada/.local/state/modelgate', '/home/ada/.cache/modelgate'],
  ],
  [
    'the XDG variables',
    { home: '/home/ada', env: { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/h' } },
    ['/c/modelgate', '/s/modelgate', '/h/modelgate'],
  ],
  [
    'a relative XDG variable counts for nothing',
    { home: '/home/ada', env: { XDG_CONFIG_HOME: 'c', XDG_STATE_HOME: './s', XDG_CACHE_HOME: '' } },
    ['/home/ada/.config/modelgate', '/home/ada/.local/state/modelgate', '/home/ada/.cache/modelgate'],
  ],
  [
    'MODELGATE_CONFIG_DIR is the folder itself',
    { home: '/home/ada', cwd: '/project', env: { MODELGATE_CONFIG_DIR: 'mine', XDG_CONFIG_HOME: '/c' } },
    ['/project/mine', '/home/ada/.local/state/modelgate', '/home/ada/.cache/modelgate'],
  ],
  [
    'the same on macOS',
    { home: '/Users/ada', platform: 'darwin' },
    ['/Users/ada/.config/modelgate', '/Users/ada/.local/state/modelgate', '/Users/ada/.cache/modelgate'],
  ],
  [
    'the folders of Windows',
    { home: 'C:\\Users\\ada', platform: 'win32', env: { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' } },
    ['D:\\Roaming\\modelgate', 'D:\\Local\\modelgate\\State', 'D:\\Local\\modelgate\\Cache'],
  ],
  [
    'Windows without variables',
    { home: 'C:\\Users\\ada', platform: 'win32' },
    [
      'C:\\Users\\ada\\AppData\\Roaming\\modelgate',
      'C:\\Users\\ada\\AppData\\Local\\modelgate\\State',
      'C:\\Users\\ada\\AppData\\Local\\modelgate\\Cache',
    ],
  ],
  ['no home at all', { home: '' }, [undefined, undefined, undefined]],
])('%s', (_, overrides, expected) => {
  expect(folders(overrides)).toEqual(expected)
})

test('the working directory never stands in for a home that nobody named', () => {
  expect(homeFolder(testContext({ home: '/repository', cwd: '/repository' }))).toBeUndefined()
  expect(
    configFolder(testContext({ home: '/repository', cwd: '/repository', env: { HOME: '' } })),
  ).toBeUndefined()
  expect(homeFolder(testContext({ home: '/home/ada', cwd: '/home/ada', env: { HOME: '/home/ada' } }))).toBe(
    '/home/ada',
  )
})
