import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const linter = join(import.meta.dirname, '../support/lint-release.ts')

/** Looks at files in the order of their names. */
function lint(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder()
  writeFiles(folder, files)
  const words = [linter, ...Object.keys(files)]
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' })
  return {
    status,
    problems: stderr.split('\n').filter((line) => !/^$|shellcheck is not installed/.test(line)),
  }
}

const workflow = (step: string) =>
  `on: [push]\njobs:\n  a:\n    runs-on: macos-15-intel\n    steps:\n      - ${step}\n`

test('a workflow without a fault passes', () => {
  expect(lint({ 'a.yml': workflow('run: cd /tmp') })).toEqual({ status: 0, problems: [] })
})

test('an unknown right, a title of anybody in a script, an input and an instruction that there are not are found', () => {
  const { status, problems } = lint({
    'right.yml': `permissions: { contents: bogus }\n${workflow('run: ls')}`,
    'title.yml': workflow('run: echo ${{ github.event.issue.title }}'),
    'input.yml': workflow('uses: actions/checkout@v4\n        with: { ref: a, nope: b }'),
    Dockerfile: 'FROM node:26-slim\nRUNN true\n',
  })
  expect([status, problems]).toEqual([
    1,
    [
      expect.stringMatching(/^right\.yml:.*"bogus" is invalid/),
      expect.stringMatching(/^title\.yml:.*potentially untrusted/),
      expect.stringMatching(/^input\.yml:.*nope/),
      expect.stringMatching(/^Dockerfile:2: .*RUNN/),
    ],
  ])
})

test.skipIf(!isInstalled('shellcheck'))('mistakes of a script are found (needs shellcheck)', () => {
  const { problems } = lint({
    'a.sh': '#!/bin/sh\nrm -r $HOME/x\n',
    'a.yml': workflow('run: rm -r $HOME/x'),
  })
  expect(problems).toEqual([
    expect.stringMatching(/^a\.sh:2:.*SC2086/),
    expect.stringMatching(/^a\.yml:a, step 1, 1:.*SC2086/),
  ])
})
