import { expect, test } from 'vitest'
import { copyEnvironment, hasPermissions, mayBeHeld, pathsOf, settingVariables } from '../../src/platform.ts'

test.each(['linux', 'darwin'] as const)('%s', (platform) => {
  expect(pathsOf(platform).join('a', 'b')).toBe('a/b')
  expect(pathsOf(platform).isAbsolute('C:\\a')).toBe(false)
  expect(hasPermissions(platform)).toBe(true)
  expect(['EPERM', 'EACCES', 'EBUSY'].filter((code) => mayBeHeld(platform, code))).toEqual([])
  expect(settingVariables(platform, { A: '1', B: '2' })).toBe('export A=1 B=2')
  expect(copyEnvironment(platform, { Path: '/bin' })['PATH']).toBeUndefined()
})

test('Windows', () => {
  expect(pathsOf('win32').join('a', 'b')).toBe('a\\b')
  expect(pathsOf('win32').isAbsolute('C:\\a')).toBe(true)
  expect(hasPermissions('win32')).toBe(false)
  const held = ['EPERM', 'EACCES', 'EBUSY']
  expect([...held, 'ENOENT'].filter((code) => mayBeHeld('win32', code))).toEqual(held)
  expect(settingVariables('win32', { A: '1', B: '2' })).toBe("$env:A='1'; $env:B='2'")
})

test('a copied environment on Windows is read in any case, and passed on as it was', () => {
  const env = { Path: 'C:\\bin', https_proxy: 'http://127.0.0.1:8' }
  const copy = copyEnvironment('win32', env)
  expect([copy['PATH'], copy['path'], copy['HTTPS_PROXY'], copy['HOME']]).toEqual([
    'C:\\bin',
    'C:\\bin',
    'http://127.0.0.1:8',
    undefined,
  ])
  expect({ ...copy }).toEqual(env)
})
