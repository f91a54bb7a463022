import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const linter = join(import.meta.dirname, '../support/lint-release.ts')

const workflow = (step: string) =>
  `on: [push]\njobs:\n  a:\n    runs-on: macos-15-intel\n    steps:\n      - ${step}\n`

// In one process: the linter takes seconds to load. That what is right passes is seen by linting the project itself.
test('mistakes of workflows, their scripts, a Dockerfile and a script of the shell are found', () => {
  const files = {
    'right.yml': workflow('run: cd /tmp'),
    'rights.yml': `permissions: { contents: bogus }\n${workflow('run: ls')}`,
    'title.yml': workflow('run: echo ${{ github.event.issue.title }}'),
    'input.yml': workflow('uses: actions/checkout@v4\n        with: { ref: a, nope: b }'),
    Dockerfile: 'FROM node:26-slim\nRUNN true\n',
    'a.sh': '#!/bin/sh\nrm -r $HOME/x\n',
    'script.yml': workflow('run: rm -r $HOME/x'),
  }
  const folder = temporaryFolder()
  writeFiles(folder, files)
  const words = [linter, ...Object.keys(files)]
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' })
  const ofScripts = [/^a\.sh:2:.*SC2086/, /^script\.yml:a, step 1, 1:.*SC2086/]
  expect([status, stderr.trimEnd().split('\n')]).toEqual([
    1,
    [
      /^rights\.yml:.*"bogus" is invalid/,
      /^title\.yml:.*potentially untrusted/,
      /^input\.yml:.*nope/,
      /^Dockerfile:2: .*RUNN/,
      ...(isInstalled('shellcheck') ? ofScripts : [/shellcheck is not installed/]),
    ].map((pattern) => expect.stringMatching(pattern) as string),
  ])
})
