import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { readPage } from '../support/pages.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { checksumLine, packProgram, releaseServer, version, type ReleaseFiles } from './release-server.ts'

const script = readPage('install.sh')
const program = `#!/bin/sh\necho ${version}\n`
const archiveName = `modelgate-${version}-linux-x64.tar.gz`

const installed = [
  '.local/bin/modelgate .local/share/bash-completion/completions/modelgate',
  '.local/share/doc/modelgate/LICENSE .local/share/doc/modelgate/THIRD-PARTY-NOTICES',
  '.local/share/fish/vendor_completions.d/modelgate.fish .local/share/man/man1/modelgate.1',
  '.local/share/zsh/site-functions/_modelgate',
].flatMap((words) => words.split(' '))

/** The paths of a release that has the archive for this platform. */
function release(archive = packProgram(program, 'linux-x64'), sums = checksumLine(archive)): ReleaseFiles {
  const others = `${'0'.repeat(64)}  modelgate-${version}-macos-arm64.tar.gz\n${'1'.repeat(64)}  install.sh\n`
  return {
    'latest/download/SHA256SUMS': others + sums,
    [`download/v${version}/SHA256SUMS`]: others + sums,
    [`download/v${version}/${archiveName}`]: readFileSync(archive),
  }
}

interface Machine {
  /** What stands in for programs of the machine: their script, or nothing where there is none. */
  readonly programs?: Readonly<Record<string, string | undefined>>
  readonly home?: string
  readonly env?: Readonly<Record<string, string>>
  readonly shell?: string
  readonly text?: string
}

const uname = (system: string, processor: string) => `[ "$1" = -s ] && echo ${system} || echo ${processor}`
const usual =
  'awk basename cat chmod cp curl dirname getconf gzip mkdir mktemp mv rm rmdir sed sha256sum tar'.split(' ')

/** Pipes the script into a shell, as `curl … | sh` does, on a machine that has the usual programs and no others. */
async function install(
  files: ReleaseFiles,
  args: readonly string[] = [],
  { programs = {}, home = temporaryFolder(), env = {}, shell = 'sh', text = script }: Machine = {},
) {
  const bin = temporaryFolder()
  const temporary = temporaryFolder()
  const all = { uname: uname('Linux', 'x86_64'), ...programs }
  for (const name of usual) if (!(name in programs)) symlinkSync(pathOf(name), join(bin, name))
  for (const [name, content] of Object.entries(all))
    if (content !== undefined) writeFileSync(join(bin, name), `#!/bin/sh\n${content}\n`, { mode: 0o755 })
  const child = spawn(pathOf(shell), ['-s', '--', ...args], {
    cwd: temporary,
    env: { PATH: bin, HOME: home, TMPDIR: temporary, MODELGATE_RELEASES: await releaseServer(files), ...env },
  })
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  const closed = once(child, 'close')
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  const [exit] = await closed
  expect(readdirSync(temporary), 'nothing temporary is left').toEqual([])
  return { exit, stdout, stderr, files: filesBelow(home) }
}

/** A home with an older program. */
function homeWithOld(): string {
  const home = temporaryFolder()
  writeFiles(home, { '.local/bin/modelgate': 'old' })
  return home
}

const paths = new Map<string, string>()

/** Looked up once: starting a process costs a test runner that holds much memory up to a tenth of a second. */
function pathOf(name: string): string {
  const path =
    paths.get(name) ?? execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' }).trim()
  paths.set(name, path)
  return path
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => lstatSync(join(folder, path)).isFile())
    .sort()
}

describe('what is right is installed', () => {
  test.each(['sh', 'dash', 'bash'].filter((shell) => isInstalled(shell) || shell !== 'bash'))(
    'by %s: the program, its completions, man page and licences',
    async (shell) => {
      const home = temporaryFolder()
      const run = await install(release(), [], { home, shell })
      expect(run).toMatchObject({ exit: 0, stderr: '', files: installed })
      expect(run.stdout.split('\n')).toEqual([
        `Downloading ${archiveName}`,
        'The checksum is right.',
        'The attestation was not verified: gh, the GitHub CLI, is not installed.',
        `modelgate ${version} is in ${home}/.local/bin.`,
        `Add ${home}/.local/bin to your PATH.`,
        '',
      ])
      expect(execFileSync(join(home, '.local/bin/modelgate'), { encoding: 'utf8' })).toBe(`${version}\n`)
      expect(lstatSync(join(home, '.local/share/man/man1/modelgate.1')).mode & 0o777).toBe(0o644)
    },
  )

  test('by wget, where there is no curl', async () => {
    const wget = execFileSync('sh', ['-c', 'command -v wget || true'], { encoding: 'utf8' }).trim()
    // On a machine without wget, too, the script says what it needs.
    const programs = { curl: undefined, wget: wget ? `exec ${wget} "$@"` : undefined }
    const run = await install(release(), [], { programs })
    expect(run).toMatchObject(wget ? { exit: 0, files: installed } : { exit: 1, files: [] })
  })

  test('with shasum, where there is no sha256sum', async () => {
    const programs = { sha256sum: undefined, shasum: `[ "$1 $2" = "-a 256" ] && exec ${pathOf('sha256sum')}` }
    expect(await install(release(), [], { programs })).toMatchObject({ exit: 0, files: installed })
  })

  test('in folders with spaces, and where XDG_DATA_HOME says', async () => {
    const home = join(temporaryFolder(), 'a home')
    mkdirSync(home)
    const run = await install(release(), [], { home, env: { XDG_DATA_HOME: join(home, 'my data') } })
    expect(run).toMatchObject({ exit: 0, stderr: '' })
    expect(run.files).toEqual(installed.map((path) => path.replace('.local/share', 'my data')))
  })

  test('in an older version, below --prefix', async () => {
    const { 'latest/download/SHA256SUMS': _, ...files } = release()
    const home = temporaryFolder()
    const run = await install(files, ['--version', `v${version}`, '--prefix', join(home, 'opt')], { home })
    expect(run.files).toEqual(installed.map((path) => path.replace('.local', 'opt')))
  })

  test('in place of what was there, and next to another one that is named', async () => {
    const home = homeWithOld()
    const held = join(temporaryFolder(), 'held')
    linkSync(join(home, '.local/bin/modelgate'), held)
    const run = await install(release(), [], { home, programs: { modelgate: 'echo other' } })
    expect(run).toMatchObject({ exit: 0, files: installed })
    expect(run.stdout).toContain('Another modelgate comes first in your PATH: ')
    expect(readFileSync(join(home, '.local/bin/modelgate'), 'utf8')).toBe(program)
    // The file that may be running has not been written to.
    expect(readFileSync(held, 'utf8')).toBe('old')
  })

  test('on a Mac that translates for another processor, for its own', async () => {
    const archive = packProgram(program, 'macos-arm64')
    const path = `download/v${version}/${basename(archive)}`
    const files = { 'latest/download/SHA256SUMS': checksumLine(archive), [path]: readFileSync(archive) }
    const programs = { uname: uname('Darwin', 'x86_64'), sysctl: 'echo 1', getconf: undefined }
    const run = await install(files, [], { programs })
    expect(run).toMatchObject({ exit: 0, files: installed })
  })

  test('and removed again, without what the user has put beside it', async () => {
    const home = temporaryFolder()
    await install(release(), [], { home })
    writeFileSync(join(home, '.local/bin/mine'), '')
    const run = await install({}, ['--uninstall'], { home })
    expect(run).toMatchObject({ exit: 0, stderr: '', files: ['.local/bin/mine'] })
    expect(run.stdout).toContain(`Removed ${home}/.local/bin/modelgate\n`)
  })
})

describe('the attestation', () => {
  const gh = (verify: string) =>
    `case "$1 $2" in "auth status") exit 0 ;; "attestation verify") echo "$*" >&2; ${verify} ;; esac`

  test('is verified by gh, for the release workflow of the repository', async () => {
    const log = join(temporaryFolder(), 'log')
    const run = await install(release(), [], { programs: { gh: gh(`echo "$*" >'${log}'`) } })
    expect(run).toMatchObject({ exit: 0, files: installed })
    expect(run.stdout).toContain('The attestation is right: modelgate/modelgate has built it.\n')
    expect(readFileSync(log, 'utf8')).toMatch(
      /^attestation verify .*\/modelgate-.*-linux-x64\.tar\.gz --repo modelgate\/modelgate --signer-workflow modelgate\/modelgate\/\.github\/workflows\/release\.yml\n$/,
    )
  })

  test('that does not hold is refused, with what gh says', async () => {
    const programs = { gh: gh('echo "no attestations found" >&2; exit 1') }
    const run = await install(release(), [], { programs })
    expect(run).toMatchObject({ exit: 1, files: [] })
    const said = /no attestations found\nmodelgate was not installed: .* has no attestation that holds/
    expect(run.stderr).toMatch(said)
  })

  test('is left out when asked, and where gh is not logged in, and both are said', async () => {
    const refusing = { gh: gh('exit 1') }
    const without = await install(release(), ['--no-attestation'], { programs: refusing })
    expect(without).toMatchObject({ exit: 0, files: installed })
    expect(without.stdout).toContain('The attestation was not verified: --no-attestation.\n')
    const loggedOut = await install(release(), [], { programs: { gh: 'exit 1' } })
    expect(loggedOut).toMatchObject({ exit: 0, files: installed })
    expect(loggedOut.stdout).toContain('The attestation was not verified: gh is not logged in.\n')
  })
})

describe('what is wrong is refused, and leaves what was there', () => {
  const archive = () => packProgram(program, 'linux-x64')
  const torn = () => ({ [`download/v${version}/${archiveName}`]: { torn: readFileSync(archive()) } })
  const running = (words: string) => release(packProgram(`#!/bin/sh\n${words}\n`, 'linux-x64'))
  const otherSum = `${'a'.repeat(64)}  ${archiveName}\n`
  const library = 'libatomic.so.1 is missing'
  const lacking = `it does not run here: ${library}. The package may: npm install --global modelgate`

  test.each<[string, files: () => ReleaseFiles, problem: string]>([
    ['a wrong checksum', () => release(archive(), otherSum), 'is not what SHA256SUMS says'],
    ['no checksum', () => release(archive(), ''), 'the newest release has nothing for linux-x64'],
    ['a torn checksum', () => release(archive(), `abc  ${archiveName}\n`), 'has no checksum of modelgate-'],
    ['an archive that is cut off', () => ({ ...release(), ...torn() }), '.tar.gz could not be downloaded'],
    ['no release', () => ({}), 'SHA256SUMS could not be downloaded'],
    ['a program that does not run here', () => running(`echo "${library}" >&2; exit 127`), lacking],
    ['a program of another version', () => running('echo 9.9.9'), 'it says that it is 9.9.9, not'],
  ])('%s', async (_, files, problem) => {
    const home = homeWithOld()
    const run = await install(files(), [], { home })
    expect(run.stderr).toContain(problem)
    expect(run).toMatchObject({ exit: 1, files: ['.local/bin/modelgate'] })
    expect(readFileSync(join(home, '.local/bin/modelgate'), 'utf8')).toBe('old')
  })

  const glibc = 'for Linux with glibc. Here, use the package: npm install --global modelgate'
  const intel = { uname: uname('Darwin', 'x86_64'), sysctl: 'echo 0' }

  test.each<[string, NonNullable<Machine['programs']>, problem: string]>([
    ['another system', { uname: uname('FreeBSD', 'x86_64') }, 'no executable for FreeBSD'],
    ['another processor', { uname: uname('Linux', 'riscv64') }, 'no executable for riscv64'],
    ['Intel and macOS', intel, 'no executable for Macs with Intel processors. Use the package: npm'],
    ['musl', { getconf: 'exit 1' }, glibc],
    ['nothing to download with', { curl: undefined }, 'curl or wget is needed'],
    [
      'nothing to verify with',
      { sha256sum: undefined },
      'sha256sum or shasum is needed, to verify the download',
    ],
    ['no room', { cp: 'exit 1' }, 'its files could not be written below'],
  ])('a machine with %s', async (_, programs, problem) => {
    const run = await install(release(), [], { programs })
    expect(run.stderr).toContain(problem)
    expect(run).toMatchObject({ exit: 1, files: [] })
  })

  test.each<[string[], string]>([
    [['--fast'], '--fast'],
    [['--version', '../1'], '../1'],
    [['--prefix'], '--prefix'],
    [[], 'HOME is not set'],
  ])('options and versions that it does not know, and no home: %j', async (args, problem) => {
    const run = await install(release(), args, { env: { HOME: '' } })
    expect(run).toMatchObject({ exit: 1, files: [] })
    expect(run.stderr).toContain(problem)
  })
})

test('a script that was cut off does nothing, wherever it ends', async () => {
  const files = release()
  const end = script.trimEnd().length
  const late = Array.from({ length: 10 }, (_, index) => end - 1 - index)
  const early = Array.from({ length: 5 }, (_, index) => Math.floor((end * index) / 5))
  const runs = await Promise.all(
    [...late, ...early].map((length) => install(files, [], { text: script.slice(0, length) })),
  )
  expect(runs.filter(({ stdout, files }) => stdout !== '' || files.length > 0)).toEqual([])
})

test('its help names its options', async () => {
  const { exit, stdout } = await install({}, ['--help'])
  expect(exit).toBe(0)
  expect(stdout.match(/--[a-z-]+/g)).toEqual(expect.arrayContaining(['--version', '--prefix', '--uninstall']))
})
