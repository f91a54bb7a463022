import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bundledPackages, thirdPartyNotices } from '../build/third-party.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

/** Lays these files into node_modules and returns the paths of those that are code. */
function installed(files: Readonly<Record<string, string>>): string[] {
  const root = join(temporaryFolder(), 'node_modules')
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(root, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  })
  return paths.filter((path) => /\.(js|wasm)$/.test(path))
}

const noticesOf = (files: readonly string[]) => thirdPartyNotices(bundledPackages(files))

const manifest = (more: object) => JSON.stringify({ name: 'a', version: '1.2.3', license: 'MIT', ...more })

describe('the notices', () => {
  test('hold the licence files of a package and of the folders of its code, and no others', () => {
    const notices = noticesOf(
      installed({
        'a/package.json': manifest({}),
        'a/LICENSE.md': 'Licence of a\r\nCopyright A\n',
        'a/license.js': '',
        'a/NOTICE': 'Notice of a',
        'a/deps/b/LICENCE': 'Licence of b',
        'a/deps/b/lib/b.js': '',
        'a/deps/c/LICENSE': 'Licence of c',
      }),
    )
    expect(notices).toContain('- a 1.2.3 (MIT)\n')
    expect(notices).toContain('\na 1.2.3\n\nLicence of a\nCopyright A\n\nNotice of a\n\nLicence of b\n')
    expect(notices).not.toContain('Licence of c')
  })

  test('are the same in whatever order the files come, with each text once', () => {
    const files = installed({
      'b/package.json': manifest({ name: 'b' }),
      'b/LICENSE': 'Shared',
      'b/b.js': '',
      'a/package.json': manifest({ version: '2.0.0' }),
      'a/LICENSE': 'Shared',
      'a/a.js': '',
      'b/node_modules/a/package.json': manifest({}),
      'b/node_modules/a/LICENSE': 'Shared',
      'b/node_modules/a/a.js': '',
    })
    const notices = noticesOf(files)
    expect(notices).toContain('\na 1.2.3\na 2.0.0\nb 1.2.3\n\nShared\n')
    expect(noticesOf(files.toReversed())).toBe(notices)
  })

  test.each([
    [{ author: 'Ann <ann@example.com>' }, 'Ann <ann@example.com>'],
    [{ author: { name: 'Ann' } }, 'Ann'],
    [{}, 'the authors of a'],
  ])('give the standard text of MIT where there is no file: %j', (author, holder) => {
    const files = installed({ 'a/package.json': manifest(author), 'a/a.js': '' })
    expect(noticesOf(files)).toContain(`\na 1.2.3\n  Copyright (c) ${holder}\n\nPermission is hereby granted`)
  })

  test.each<[string, Readonly<Record<string, string>>, string]>([
    [
      'no licence',
      { 'a/package.json': '{"name":"a","version":"1.2.3"}' },
      'a 1.2.3 is under no licence, which is not on the list of allowed licences',
    ],
    ['no text', { 'a/package.json': manifest({ license: 'ISC' }) }, 'a 1.2.3 has no licence file, and ISC'],
    ['unknown code', { 'a/package.json': manifest({}), 'a/a.wasm': '' }, 'What is compiled into a 1.2.3?'],
  ])('fail the build for a package with %s', (_, files, message) => {
    expect(() => noticesOf(installed({ ...files, 'a/a.js': '' }))).toThrow(message)
  })
})

describe('the list of licences', () => {
  const noticesUnder = (license: string) =>
    noticesOf(installed({ 'a/package.json': manifest({ license }), 'a/LICENSE': 'Text', 'a/a.js': '' }))

  test.each(['MIT', '(MIT OR GPL-3.0-only)', 'BSD-3-Clause AND IJG'])('takes %s', (license) => {
    expect(noticesUnder(license)).toContain(`- a 1.2.3 (${license})`)
  })

  test.each(['GPL-3.0-only', 'UNLICENSED', 'MIT AND GPL-3.0-only', 'SEE LICENSE IN x', 'MPL-2.0', ''])(
    'refuses %j',
    (license) => {
      expect(() => noticesUnder(license)).toThrow(
        `a 1.2.3 is under ${license}, which is not on the list of allowed licences`,
      )
    },
  )
})

test.each([
  'llhttp',
  'based in part on the work of the Independent JPEG Group',
  'Copyright (C)2009-2020 D. R. Commander.',
  'Copyright (c) 2010, Google Inc. All rights reserved.\n\nRedistribution and use',
  'miniz_oxide 0.7.1',
  'chalk 5.6.2\nchalk 6.0.1\n',
])('the built file has %j', (text) => {
  expect(readFileSync(new URL('../THIRD-PARTY-NOTICES', import.meta.url), 'utf8')).toContain(text)
})
