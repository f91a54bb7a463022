import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/pages.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { packProgram, version } from './release-server.ts'

const program = '#!/bin/sh\necho "it runs"\n'
const pack = (platform: string) => packProgram(program, platform)

const completions = ['_modelgate', 'modelgate.bash', 'modelgate.fish', 'modelgate.ps1']
const wanted = (folder: string, name: string) => [
  ...['LICENSE', 'THIRD-PARTY-NOTICES'].map((file) => `${folder}/${file}`),
  ...completions.map((file) => `${folder}/completions/${file}`),
  ...['man/modelgate.1', name].map((file) => `${folder}/${file}`),
]

/** Without the folders, which a tar archive has, too. */
const filesIn = (list: string) => list.split('\n').filter((path) => /[^/]$/.test(path))

test.each(['linux-x64', 'linux-arm64', 'macos-arm64'])(
  'an archive for %s has all that belongs to the program, in a folder of its name',
  (platform) => {
    const path = pack(platform)
    const folder = `modelgate-${version}-${platform}`
    expect(path.endsWith(`/${folder}.tar.gz`)).toBe(true)
    const list = execFileSync('tar', ['tzf', path], { encoding: 'utf8' })
    expect(filesIn(list)).toEqual(wanted(folder, 'modelgate'))
  },
)

test('what tar unpacks runs, and belongs to nobody else', () => {
  const path = pack('linux-x64')
  const folder = temporaryFolder()
  execFileSync('tar', ['xzf', path, '-C', folder])
  const unpacked = join(folder, `modelgate-${version}-linux-x64`)
  expect(execFileSync(join(unpacked, 'modelgate'), { encoding: 'utf8' })).toBe('it runs\n')
  expect(readFileSync(join(unpacked, 'THIRD-PARTY-NOTICES'), 'utf8')).toBe('Node and others\n')
  const page = readFileSync(new URL('man/modelgate.1', projectRoot))
  expect(readFileSync(join(unpacked, 'man/modelgate.1'))).toEqual(page)
  expect(statSync(join(unpacked, 'LICENSE')).mode & 0o777).toBe(0o644)
  const list = execFileSync('tar', ['tvzf', path, '--numeric-owner'], { encoding: 'utf8' })
  expect(list).toMatch(/^-rwxr-xr-x 0\/0 .*\/modelgate$/m)
})

test.skipIf(!isInstalled('python3'))(
  'the archive for Windows is a zip whose sums are right (needs python3)',
  () => {
    const path = pack('windows-x64')
    const script = `
import sys, zipfile
file = zipfile.ZipFile(sys.argv[1])
assert file.testzip() is None
for entry in file.infolist(): print(entry.filename)
sys.stderr.write(file.read(file.infolist()[-1]).decode())`
    const { stdout, stderr } = spawnSync('python3', ['-c', script, path], { encoding: 'utf8' })
    const folder = `modelgate-${version}-windows-x64`
    expect(path).toMatch(new RegExp(`/${folder}\\.zip$`))
    expect(filesIn(stdout)).toEqual(wanted(folder, 'modelgate.exe'))
    expect(stderr).toBe(program)
  },
)

test.each(['linux-x64', 'windows-x64'])('the same files give the same bytes for %s', (platform) => {
  expect(readFileSync(pack(platform))).toEqual(readFileSync(pack(platform)))
})

test('a platform that no release is made for is refused', () => {
  expect(() => pack('linux-riscv64')).toThrow('No release is made for linux-riscv64.')
})
