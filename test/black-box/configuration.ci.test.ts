import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { launcher } from './spawn-program.ts'

/** A home directory with a space in it. */
function place(user: string) {
  const home = join(temporaryFolder(), 'a home')
  writeFiles(home, { '.config/modelgate/config.yaml': user })
  return { home, env: { HOME: home, PATH: process.env['PATH']! } }
}

test('auth login on a terminal: neither the key nor its length is on the screen', async () => {
  const { home, env } = place('quiet: false\n')
  const key = 'sk-0123456789abcdef'
  const { bytes, exitCode } = await runOnScreen(launcher, ['auth', 'login', '--profile', 'new'], {
    cwd: home,
    env,
    type: [{ when: 'API key of profile new:', keys: `${key}\r` }],
  })
  expect(exitCode).toBe(0)
  expect(bytes).not.toContain(key.slice(0, 8))
  expect(bytes).not.toContain('*')
  const file = join(home, '.config/modelgate/credentials.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ profiles: { new: { api_key: key } } })
})
