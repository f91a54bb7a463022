import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

test('the launcher tells what can be completed, from what the build has kept', async () => {
  const asked = await spawnProgram(['__complete', 'bash', ' =', 'modelgate image create --output-f']).ended
  expect([asked.exit, asked.stdout.toString(), asked.stderr]).toEqual([0, '--output-format\n', ''])
})

test('the launcher tells the profiles of the user, also from a folder that is gone', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'config.yaml': 'profiles:\n  work:\n    base_url: https://gw.example\n' })
  const gone = join(folder, 'gone')
  mkdirSync(gone)
  const env = { MODELGATE_CONFIG_DIR: folder }
  const shell = 'cd gone && rmdir ../gone && modelgate __complete profiles; modelgate __complete bogus'
  const { exit, stdout, stderr } = await spawnProgram([], { shell, env, cwd: folder }).ended
  expect([exit, stdout.toString(), stderr]).toEqual([0, 'work\tgw.example\n', ''])
})
