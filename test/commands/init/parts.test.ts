import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inOrder, kindOf } from '../../../src/commands/init/choose-models.ts'
import { completionFor, isOnPath } from '../../../src/commands/init/shell-completion.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext, type TestOverrides } from '../../support/test-context.ts'

describe('the kind of a model', () => {
  test.each<[string, string | null, string]>([
    ['gpt-image-2', 'image', 'image'],
    ['sora-2', 'video', 'video'],
    ['veo-3.1', 'video', 'video'],
    ['gemini-3-pro', 'text', 'text'],
    ['gemini-3-pro-image-preview', 'text', 'image'],
    ['imagen-4', null, 'image'],
    ['flux-2-pro', null, 'image'],
    ['influx-1', null, 'text'],
    ['some-model', null, 'text'],
    ['text-embedding-3', null, 'other'],
    ['omni-moderation-latest', null, 'other'],
    ['tts-1', null, 'other'],
    ['gpt-realtime', null, 'other'],
  ])('%s, which is known as %s: %s', (id, kind, expected) => {
    expect(kindOf({ id, kind })).toBe(expected)
  })
})

test('a model that is being retired is not proposed before one that stays', () => {
  const stays = (id: string) => ({ id, kind: null, retires: null, retired: false })
  const listed = [{ ...stays('gpt-image-1'), retires: '2026-12-01' }, stays('gpt-5'), stays('gpt-image-2')]
  expect(inOrder('image', listed).map(({ id }) => id)).toEqual(['gpt-image-2', 'gpt-image-1', 'gpt-5'])
})

describe('the shell at hand', () => {
  test.each<[string, TestOverrides, string | undefined, string | undefined]>([
    ['bash', { env: { SHELL: '/bin/bash' } }, 'bash', '/test/home/.bashrc'],
    [
      'bash on macOS',
      { env: { SHELL: '/bin/bash' }, platform: 'darwin' },
      'bash',
      '/test/home/.bash_profile',
    ],
    ['zsh', { env: { SHELL: '/usr/bin/zsh' } }, 'zsh', '/test/home/.zshrc'],
    ['zsh elsewhere', { env: { SHELL: 'zsh', ZDOTDIR: '/z' } }, 'zsh', '/z/.zshrc'],
    ['fish', { env: { SHELL: 'fish' } }, 'fish', '/test/home/.config/fish/config.fish'],
    ['fish elsewhere', { env: { SHELL: 'fish', XDG_CONFIG_HOME: '/x' } }, 'fish', '/x/fish/config.fish'],
    [
      'PowerShell in bash',
      { env: { SHELL: '/bin/bash', PSModulePath: '/p' } },
      'powershell',
      '/test/home/.config/powershell/Microsoft.PowerShell_profile.ps1',
    ],
    ['Windows', { platform: 'win32', env: { PSModulePath: 'C:\\p' } }, 'powershell', undefined],
    [
      'Git bash on Windows',
      { platform: 'win32', env: { PSModulePath: 'C:\\p', SHELL: '/usr/bin/bash.exe' } },
      'bash',
      '/test/home/.bashrc',
    ],
    ['another shell', { env: { SHELL: '/bin/tcsh' } }, undefined, undefined],
    ['no shell', {}, undefined, undefined],
  ])('%s', (_, overrides, shell, path) => {
    const found = completionFor(testContext(overrides))
    expect(found?.shell).toBe(shell)
    expect(found?.path).toBe(path)
  })
})

test('the program is on the PATH where it can be executed', () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'plain/modelgate': '', 'good/modelgate': '' })
  chmodSync(join(folder, 'good/modelgate'), 0o755)
  mkdirSync(join(folder, 'empty'))
  const isFound = (...names: string[]) =>
    isOnPath(testContext({ env: { PATH: names.map((name) => join(folder, name)).join(':') } }))
  expect(isFound('empty', 'plain')).toBe(false)
  expect(isFound('empty', 'good')).toBe(true)
  expect(isOnPath(testContext())).toBe(false)
  writeFiles(folder, { 'npm/modelgate.cmd': '' })
  chmodSync(join(folder, 'npm/modelgate.cmd'), 0o755)
  const onWindows = ['empty', 'npm'].map((name) => join(folder, name)).join(';')
  expect(isOnPath(testContext({ platform: 'win32', env: { Path: onWindows } }))).toBe(true)
})
