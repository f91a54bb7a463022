import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
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

test('auth login on a terminal: what the gateway says follows the question', async () => {
  const { url } = await runningSandbox()
  const { home, env } = place(`base_url: ${url}\n`)
  const { lines, exitCode } = await runOnScreen(launcher, ['auth', 'login'], {
    cwd: home,
    env: { ...env, LANG: 'C.UTF-8' },
    type: [{ when: 'API key:', keys: 'sk-0123456789abcdef\r' }],
  })
  expect(exitCode).toBe(0)
  expect(lines.map((line) => line.trimEnd())).toEqual([
    '✔ API key:',
    `${new URL(url).host} accepts the key.`,
    'The key (…cdef) of profile default is stored in',
    '~/.config/modelgate/credentials.json.',
  ])
})

test.each([80, 40])('doctor looks at the sandbox on a terminal of %i columns', async (columns) => {
  const { home, env } = place('quiet: false\n')
  const all = { ...env, LANG: 'C.UTF-8', NO_COLOR: '1' }
  const { lines, exitCode } = await runOnScreen(launcher, ['doctor', '--sandbox'], {
    cwd: home,
    env: all,
    columns,
  })
  expect(exitCode).toBe(0)
  const screen = lines
    .join('\n')
    .replaceAll(/\d+\.\d+\.\d+ on linux \w+/g, 'VERSION')
    .replaceAll(/127\.0\.0\.1:\d+(, \d+ ms)?/g, 'ADDRESS')
  expect(screen).toMatchSnapshot()
})
