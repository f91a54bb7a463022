import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const linter = join(import.meta.dirname, '../support/lint-release.ts')

function lint(name: string, content: string) {
  const folder = temporaryFolder()
  writeFiles(folder, { [name]: content })
  const { status, stderr } = spawnSync(process.execPath, [linter, name], { cwd: folder, encoding: 'utf8' })
  return { status, stderr }
}

const workflow = (step: string) =>
  `on: [push]\njobs:\n  a:\n    runs-on: macos-15-intel\n    steps:\n      - ${step}\n`

test('a workflow without a fault passes', () => {
  expect(lint('a.yml', workflow('run: cd /tmp'))).toMatchObject({ status: 0 })
})

test.each([
  ['an unknown right', `permissions: { contents: bogus }\n${workflow('run: ls')}`, '"bogus" is invalid'],
  [
    'a title of anybody in a script',
    workflow('run: echo ${{ github.event.issue.title }}'),
    'potentially untrusted',
  ],
  [
    'an input that an action does not have',
    workflow('uses: actions/checkout@v4\n        with: { ref: a, nope: b }'),
    'nope',
  ],
])('%s is found', (_, content, problem) => {
  expect(lint('a.yml', content)).toEqual({ status: 1, stderr: expect.stringContaining(problem) as string })
})

test('an instruction that Docker does not know is found', () => {
  expect(lint('Dockerfile', 'FROM node:26-slim\nRUNN true\n')).toEqual({
    status: 1,
    stderr: expect.stringMatching(/Dockerfile:2: .*RUNN/) as string,
  })
})

test.skipIf(!isInstalled('shellcheck'))('mistakes of a script are found (needs shellcheck)', () => {
  expect(lint('a.sh', 'rm -r $HOME/x\n').stderr).toMatch(/a\.sh:1:.*SC2086/)
  expect(lint('a.yml', workflow('run: rm -r $HOME/x')).stderr).toMatch(/a\.yml:a, step 1, 1:.*SC2086/)
})
