import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checksumOf, releaseFile } from '../../action/src/release-files.ts'
import { launcher } from '../black-box/spawn-program.ts'
import { packageRelease, release, startsProgram, version } from './runner.ts'
import { scene, three } from './scene.ts'

/** Only puts the program on the PATH. */
const setup = { mode: 'setup' }
/** Runs the program, and makes nothing. */
const check = { mode: 'check', report: '' }

test('setup puts the version of the action on the PATH of later steps, and runs nothing', async () => {
  const { services, sandbox, start } = await scene()
  const step = start({ with: setup })
  const { exit, outputs, path } = await step.ended
  await step.post()
  expect([exit, outputs]).toEqual([0, { version, mode: 'setup' }])
  expect(readFileSync(join(path[0]!, 'modelgate'), 'utf8')).toContain('exec')
  expect([sandbox.requests(), services.caches, services.artifacts]).toEqual([[], [], []])
})

test('an archive with another checksum is not installed', async () => {
  const { services, machine, start } = await scene()
  const path = release(services)
  services.files.set(path, Buffer.concat([services.files.get(path) as Buffer, Buffer.from('more')]))
  const { exit, log } = await start({ with: setup }).ended
  expect([exit, existsSync(join(machine.root, 'tools/modelgate'))]).toEqual([1, false])
  expect(log).toMatch(
    /^::error::modelgate-\S+\.tar\.gz is not the file that was released: its SHA-256 is \w{64}, and in SHA256SUMS it is \w{64}\. Nothing/m,
  )
})

test('gh verifies that the release workflow has built the file from the tag, with the token', async () => {
  const { machine, start } = await scene()
  const seen = join(machine.root, 'seen')
  machine.install('gh', `printf '%s\\n' "$GH_TOKEN" "\${MODELGATE_API_KEY-none}" "$@" > '${seen}'`)
  expect((await start({ with: setup }).ended).exit).toBe(0)
  const [token, key, ...args] = readFileSync(seen, 'utf8').trimEnd().split('\n')
  const origin =
    '--repo modelgate/modelgate --signer-workflow modelgate/modelgate/.github/workflows/release.yml'
  expect([token, key, args.with(2, 'FILE').join(' ')]).toEqual([
    'ghs_token',
    'none',
    `attestation verify FILE ${origin} --source-ref refs/tags/v${version}`,
  ])
  expect(args[2]).toMatch(/\/modelgate-[^/]+\.tar\.gz$/)
})

test('a file that is not attested is not installed, unless that is accepted; nor is one without gh', async () => {
  const { machine, start } = await scene()
  machine.install('gh', 'echo "no attestations found" >&2; exit 1')
  const refused = await start({ with: setup }).ended
  expect([refused.exit, readdirSync(join(machine.root, 'tools'))]).toEqual([1, []])
  expect(refused.log).toMatch(
    /^::error::The origin of modelgate-\S+\.tar\.gz was not verified, and nothing was installed: no attestations found/m,
  )
  const accepted = await start({ with: { ...setup, attestation: 'skip' } }).ended
  expect([accepted.exit, readdirSync(join(machine.root, 'tools'))]).toEqual([0, ['modelgate-unattested']])
  // What was accepted then is not taken for verified now.
  rmSync(join(machine.bin, 'gh'))
  const { exit, log } = await start({ with: setup }).ended
  expect([exit, log]).toEqual([1, expect.stringContaining('gh is not on this machine.')])
})

test.each([
  ['latest', '1.10.0'],
  ['~1.9.0', '1.9.2'],
  ['v1.9.2', '1.9.2'],
])('%s is the newest release that fits: %s', async (wanted, found) => {
  const { services, machine, start } = await scene()
  const tags = ['v1.9.2', 'v2.0.0-rc.1', 'v1.10.0', 'v3.0.0', 'not a version']
  const releases = tags.map((tag_name) => {
    return { tag_name, draft: tag_name === 'v3.0.0', prerelease: /-/.test(tag_name) }
  })
  const list = '/repos/modelgate/modelgate/releases'
  services.files.set(list, JSON.stringify(releases))
  machine.tool(found)
  const { outputs, path } = await start({ with: { ...setup, version: wanted, mirror: '' } }).ended
  expect([outputs['version'], ...path]).toEqual([found, expect.stringContaining(`/modelgate/${found}/`)])
  const expected = wanted[0] === 'v' ? [] : [{ path: list, authorization: 'Bearer ghs_token' }]
  expect(services.asked).toEqual(expected)
})

const missing = /http:\S+\/releases\/v8\.8\.8\/SHA256SUMS could not be fetched: Unexpected HTTP response: 404/
const other = /The release of modelgate 9\.9\.9 contains modelgate \d+\.\d+\.\d+\./

test.each<[string, wanted: string, program: { named?: string; script?: string }, RegExp]>([
  ['a range of a mirror', '1.x', {}, /version must be exact where there is a mirror, not 1\.x\./],
  ['a version that there is not', '8.8.8', {}, missing],
  ['a release that contains another version', '9.9.9', { named: '9.9.9' }, other],
  ['an executable that cannot be run here', '', { script: 'exit 127' }, /\/\S+\/modelgate cannot be run: /],
])('%s is refused', async (_, wanted, program, message) => {
  const { services, start } = await scene()
  release(services, program)
  const { exit, log } = await start({ with: { ...setup, ...(wanted && { version: wanted }) } }).ended
  expect([exit, /^::error::(.*)$/m.exec(log)?.[1]]).toEqual([1, expect.stringMatching(message)])
})

test.each(['tools/mine', 'mine'])('an executable that is there, as %s', async (executable) => {
  const { services, machine, start } = await scene()
  machine.checkout({ ...three, 'tools/x': '' })
  machine.install(executable === 'mine' ? 'mine' : '../work/repo/tools/mine', startsProgram)
  const { exit, outputs, path } = await start({ with: { ...check, executable } }).ended
  expect([exit, outputs['version'], path]).toEqual([13, version, []])
  expect(services.asked.filter(({ path }) => path.startsWith('/releases'))).toEqual([])
})

test('an npm package that is there, by its script, with the Node of the PATH', async () => {
  const { machine, start } = await scene()
  machine.install('node', `exec '${process.execPath}' "$@"`)
  const { exit, outputs } = await start({ with: { ...check, executable: launcher } }).ended
  expect([exit, outputs['version']]).toEqual([13, version])
})

test('a machine that no executable is built for gets the npm package, with the Node of the PATH or of the action', async () => {
  const { services, machine, start } = await scene()
  packageRelease(services)
  const used = join(machine.root, 'used')
  machine.install('node', `echo > '${used}'; exec '${process.execPath}' "$@"`)
  machine.install('dirname', `echo "\${1%/*}"`)
  const other = join(machine.root, 'other.cjs')
  writeFileSync(other, "Object.defineProperty(process, 'arch', { value: 'riscv64' })")
  const step = { with: check, env: { NODE_OPTIONS: `--require=${other}` } }
  const { exit, outputs, path } = await start(step).ended
  expect([exit, outputs['version'], existsSync(used)]).toEqual([13, version, true])
  expect(existsSync(join(path[0]!, 'modelgate'))).toBe(true)
  rmSync(join(machine.bin, 'node'))
  expect((await start(step).ended).exit).toBe(13)
})

test.each<[string, string, string, withoutGlibc?: boolean]>([
  ['linux', 'x64', 'modelgate-1.2.3-linux-x64.tar.gz'],
  ['linux', 'x64', 'modelgate-1.2.3.tgz', true],
  ['linux', 'arm64', 'modelgate-1.2.3-linux-arm64.tar.gz'],
  ['darwin', 'arm64', 'modelgate-1.2.3-macos-arm64.tar.gz'],
  ['win32', 'x64', 'modelgate-1.2.3-windows-x64.zip'],
  ['win32', 'arm64', 'modelgate-1.2.3-windows-x64.zip'],
  ['darwin', 'x64', 'modelgate-1.2.3.tgz'],
  ['linux', 'riscv64', 'modelgate-1.2.3.tgz'],
])('for %s on %s it is %s', (platform, arch, name, withoutGlibc = false) => {
  expect(releaseFile('1.2.3', platform, arch, withoutGlibc)).toBe(name)
})

test('a checksum is that of the very name', () => {
  const [one, other] = ['1'.repeat(64), 'A'.repeat(64)]
  const sums = `${one}  a.zip.old\r\n${other} *a.zip\r\nshort  b.zip\r\n`
  expect(checksumOf('a.zip', sums)).toBe('a'.repeat(64))
  expect(() => checksumOf('b.zip', sums)).toThrow('SHA256SUMS of the release does not list b.zip.')
})
