import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/pages.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const changelog = `# Changelog

## Unreleased

- Later.

## 1.2.0 (2026-12-01)

### Text

- Streams.

## 1.1.0

- Before.
`

function notes(tag: string, text = changelog) {
  const folder = temporaryFolder()
  mkdirSync(join(folder, '.ci'))
  copyFileSync(new URL('.ci/release-notes.js', projectRoot), join(folder, '.ci/release-notes.js'))
  writeFiles(folder, { 'package.json': '{ "version": "1.2.0", "type": "module" }', 'CHANGELOG.md': text })
  const { status, stdout, stderr } = spawnSync(process.execPath, ['.ci/release-notes.js', tag], {
    cwd: folder,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const empty = 'CHANGELOG.md has no section "## 1.2.0", or an empty one.\n'

test.each<[string, tag: string, stdout: string, stderr: string, text?: string]>([
  ['are what the changelog says of its version', 'v1.2.0', '### Text\n\n- Streams.\n', ''],
  [
    'of another version are refused',
    'v1.2.1',
    '',
    'The tag is v1.2.1, and package.json says 1.2.0: it has to be v1.2.0.\n',
  ],
  ['without a section are refused', 'v1.2.0', '', empty, '## Unreleased\n\n- Later.\n\n## 1.2\n\n- Other.\n'],
  ['of an empty section are refused', 'v1.2.0', '', empty, '## 1.2.0\n\n## 1.1.0\n\n- Before.\n'],
])('the notes of a release %s', (_, tag, stdout, stderr, text) => {
  expect(notes(tag, text)).toEqual({ status: stderr === '' ? 0 : 1, stdout, stderr })
})
