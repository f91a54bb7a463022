import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { launcher } from './spawn-program.ts'

/** A home directory with a space in it, and an editor that writes one text after the other. */
function place(user: string, ...texts: readonly string[]) {
  const home = join(temporaryFolder(), 'a home')
  const files = Object.fromEntries(texts.map((text, index) => [`editor/${index + 1}`, text]))
  const script =
    'n=$(cat "$1/count"); n=$((n + 1)); echo $n > "$1/count"; test -e "$1/$n" && cat "$1/$n" > "$2"'
  writeFiles(home, {
    '.config/modelgate/config.yaml': user,
    'editor/count': '0',
    'editor/ed.sh': script,
    ...files,
  })
  const env = { HOME: home, PATH: process.env['PATH']!, VISUAL: `sh "${home}/editor/ed.sh" "${home}/editor"` }
  const file = join(home, '.config/modelgate/config.yaml')
  return {
    home,
    env,
    read: () => readFileSync(file, 'utf8'),
    folder: () => readdirSync(join(home, '.config/modelgate')),
  }
}

test('config edit: what the editor wrote is saved when it is right', async () => {
  const { home, env, read, folder } = place('timeout: 5\n', '# mine\ntimeout: 6\n')
  const { lines, exitCode } = await runOnScreen(launcher, ['config', 'edit'], { cwd: home, env })
  expect({ lines, exitCode }).toEqual({ lines: ['~/.config/modelgate/config.yaml is saved.'], exitCode: 0 })
  expect(read()).toBe('# mine\ntimeout: 6\n')
  expect(folder()).toEqual(['config.yaml'])
})

test('config edit: what is wrong is told, and can be corrected', async () => {
  const { home, env, read, folder } = place('timeout: 5\n', 'timout: 6\n', 'timeout: 7\n')
  const { lines, screens, exitCode } = await runOnScreen(launcher, ['config', 'edit'], {
    cwd: home,
    env,
    type: [{ when: 'edit again', keys: '\r' }],
  })
  expect(screens[0]?.join('\n').replaceAll(/\s+/g, ' ')).toContain(
    'timout is not a setting. Did you mean timeout?',
  )
  expect(exitCode).toBe(0)
  expect(lines.at(-1)).toBe('~/.config/modelgate/config.yaml is saved.')
  expect(read()).toBe('timeout: 7\n')
  expect(folder()).toEqual(['config.yaml'])
})

test('config edit: the file stays as it was', async () => {
  const { home, env, read, folder } = place('timeout: 5\n', 'timeout: [\n')
  const dropped = await runOnScreen(launcher, ['config', 'edit'], {
    cwd: home,
    env,
    type: [{ when: 'edit again', keys: '\u001b[B\r' }],
  })
  expect(dropped.exitCode).toBe(2)
  expect(read()).toBe('timeout: 5\n')
  expect(folder()).toEqual(['config.yaml'])
  writeFiles(home, { 'editor/count': '0' })
  const kept = await runOnScreen(launcher, ['config', 'edit'], {
    cwd: home,
    env,
    type: [{ when: 'edit again', keys: '\u001b[B\u001b[B\r' }],
  })
  expect(kept.exitCode).toBe(2)
  expect(read()).toBe('timeout: 5\n')
  const copy = folder().find((name) => name !== 'config.yaml')!
  expect(readFileSync(join(home, '.config/modelgate', copy), 'utf8')).toBe('timeout: [\n')
  expect(kept.lines.join('')).toContain(copy)
})

test('config edit: Ctrl-C is a key of the editor', async () => {
  const { home, env, read } = place('timeout: 5\n')
  const editor = join(home, 'vi')
  const script = '#!/bin/sh\ntrap : INT\necho editing\nread answer\nread answer\necho "timeout: 7" > "$1"\n'
  writeFileSync(editor, script, { mode: 0o755 })
  const { lines, exitCode } = await runOnScreen(launcher, ['config', 'edit'], {
    cwd: home,
    env: { ...env, VISUAL: `"${editor}"` },
    type: [
      { when: 'editing', keys: '\u0003' },
      { when: '^C', keys: 'a\rb\r' },
    ],
  })
  expect(lines.join('\n')).toContain('is saved.')
  expect(exitCode).toBe(0)
  expect(read()).toBe('timeout: 7\n')
})

test('config edit: an editor that fails changes nothing', async () => {
  const { home, env, read } = place('timeout: 5\n')
  const failing = { ...env, VISUAL: '', EDITOR: 'false' }
  const { lines, exitCode } = await runOnScreen(launcher, ['config', 'edit'], { cwd: home, env: failing })
  expect(lines.join('\n')).toContain('The editor ended with exit code 1.')
  expect(exitCode).toBe(2)
  const missing = await runOnScreen(launcher, ['config', 'edit'], {
    cwd: home,
    env: { ...env, VISUAL: 'no-such-editor-here' },
  })
  expect(missing.lines.join('\n')).toContain('The editor was not found.')
  expect(read()).toBe('timeout: 5\n')
})

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
