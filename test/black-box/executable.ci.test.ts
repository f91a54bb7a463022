import { hash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plantTraps } from '../support/config-traps.ts'
import { singleExecutable } from '../support/executable.ts'
import { localServer } from '../support/local-server.ts'
import { projectRoot } from '../support/pages.ts'
import { runOnScreen } from '../support/screen.ts'
import { sse } from '../support/server-replies.ts'
import { typeAndTab } from '../support/shell-session.ts'
import { skipOnWindows, windowsEnvironment } from '../support/skip-on-windows.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { textStyles } from '../program/text-styles.ts'
import { endOf, packagedProgram, spawnProgram } from './spawn-program.ts'

const { platform } = process
const examples = fileURLToPath(new URL('examples/', projectRoot))

/** A folder with a copy of the executable as its only file, which is all that PATH leads to: beside it there is nothing. */
let bin: string
let executable: string

beforeAll(() => {
  const built = singleExecutable()
  bin = mkdtempSync(join(tmpdir(), 'modelgate-bin-'))
  executable = join(bin, basename(built))
  copyFileSync(built, executable)
}, 300_000)

afterAll(() => rmSync(bin, { recursive: true, force: true }))

/** The executable in a folder, which is the user's home, too. */
const placed = (cwd: string, env: Readonly<Record<string, string>> = {}) => ({
  program: [executable],
  cwd,
  env: { PATH: bin, HOME: cwd, ...windowsEnvironment(cwd), ...env },
})

/** What a call of it ends with, and prints. */
async function call(cwd: string, words: readonly string[], env?: Readonly<Record<string, string>>) {
  const { exit, stdout } = await endOf(words, placed(cwd, env))
  return [exit, stdout] as const
}

/** What a call prints and leaves, where nothing of it depends on the time. */
async function traceOf(program: readonly string[], words: readonly string[]) {
  const cwd = temporaryFolder()
  for (const name of ['boat.jpg', 'person.json', 'room.png']) cpSync(join(examples, name), join(cwd, name))
  const home = temporaryFolder()
  const env = { PATH: bin, HOME: home, ...windowsEnvironment(home) }
  const { exit, stdout, stderr } = await endOf(words, { program, cwd, env })
  const files = readdirSync(cwd).map((name) => [name, hash('sha256', readFileSync(join(cwd, name)))])
  // The package has them, the executable has not.
  const pages = /(?<=The pages of the documentation:)\s+\S+/
  return { exit, stdout: stdout.replace(pages, 'docs'), stderr, files }
}

test('there is no Node where the executable is tried', async () => {
  skipOnWindows('/bin/bash')
  const program = ['/bin/bash', '-c', 'command -v node', 'bash']
  const { stdout } = await endOf([], { program, cwd: bin, env: { PATH: bin, HOME: bin } })
  expect(stdout).toBe('')
  expect(readdirSync(bin)).toEqual([basename(executable)])
})

test('the licences of Node and of the bundle lie beside it', () => {
  const notices = readFileSync(join(dirname(singleExecutable()), 'THIRD-PARTY-NOTICES'), 'utf8')
  expect(notices).toMatch(/^The executable is Node\.js \d+\.\d+\.\d+, with a bundle in it\./)
  expect(notices).toContain('\n- undici ')
  expect(notices).toContain('- V8, located at deps/v8, is licensed as follows:')
})

const picture = ['image', 'create', '--sandbox', '--size', '256x256', '-m', 'my-own']

test.each<[number, readonly string[]]>([
  [0, ['--version']],
  // Read from files of the package elsewhere.
  [0, ['help', 'exit-codes']],
  [0, ['schema']],
  [2, ['generate', '--sandbox', '--bogus']],
  // Threads, and modules of WebAssembly.
  [0, ['respond', '--sandbox', '--schema', 'person.json', 'Hi']],
  [0, [...picture, '--output-format', 'webp', '-o', 'boat.webp', 'A boat']],
  [0, ['image', 'edit', '--sandbox', '-m', 'my-own', '--image', 'boat.jpg', '-o', 'night.png', 'By night']],
])('it ends with %i as the package does: %j', async (code, words) => {
  const [own, packaged] = await Promise.all([traceOf([executable], words), traceOf(packagedProgram, words)])
  expect(own.exit).toBe(code)
  expect(own).toEqual(packaged)
})

test('a video is made, looked up and made anew, each in a process of its own', async () => {
  const cwd = temporaryFolder()
  const generate = ['video', 'generate', '--sandbox', '--wait', '-o', 'boat.mp4', 'A boat']
  expect(await call(cwd, generate)).toEqual([0, 'boat.mp4\n'])
  const [, list] = await call(cwd, ['jobs'])
  const [id] = list.split('\t')
  expect(await call(cwd, ['video', 'status', id!])).toEqual([0, expect.stringContaining('completed')])
  const remix = ['video', 'remix', '--sandbox', id!, 'By night']
  expect(await call(cwd, remix)).toEqual([0, expect.stringMatching(/^video_\w+\n$/)])
  expect(readFileSync(join(cwd, 'boat.mp4')).toString('latin1', 4, 8)).toBe('ftyp')
})

test('a picture is shown on a terminal', async () => {
  const cwd = temporaryFolder()
  const words = [...picture, '--output-format', 'webp', '-o', 'boat.webp', 'A boat']
  const env = { PATH: '/bin:/usr/bin', HOME: cwd, KITTY_WINDOW_ID: '1' }
  const { bytes, exitCode } = await runOnScreen([executable], words, { cwd, env })
  expect([exitCode, bytes]).toEqual([0, expect.stringContaining('\x1b_Ga=T,f=100,')])
})

test('its sandbox serves another process, until it dies of a signal', async () => {
  const cwd = temporaryFolder()
  const sandbox = spawnProgram(['sandbox'], placed(cwd))
  await until(() => sandbox.stdout.includes('\n'))
  const env = { MODELGATE_BASE_URL: sandbox.stdout.toString().trim() }
  const answer = await call(cwd, ['respond', '-m', 'any', 'Hello'], env)
  expect(answer).toEqual([0, expect.stringContaining('[sandbox]')])
  sandbox.process.kill('SIGINT')
  expect((await sandbox.ended).exit).toBe('SIGINT')
})

test('it dies of a signal in the middle of a stream, all written', async () => {
  const server = await localServer([sse([textStyles.respond.delta('Hello, ')], { ending: 'stall' })])
  const words = ['respond', '-m', 'any', '--base-url', server.url, 'x']
  const program = spawnProgram(words, placed(temporaryFolder()))
  await until(() => program.stdout.length > 0)
  program.process.kill('SIGTERM')
  const { exit, stdout } = await program.ended
  expect([exit, stdout.toString()]).toEqual(['SIGTERM', 'Hello, \n'])
})

// The bash of macOS is of 2007.
test.skipIf(platform !== 'linux')(
  'bash completes what it knows of the configuration (on Linux)',
  async () => {
    const folder = temporaryFolder()
    const [, script] = await call(folder, ['completion', 'bash'])
    writeFiles(folder, {
      script,
      '.config/modelgate/config.yaml': 'profiles:\n  work:\n    base_url: https://gw.example\n',
    })
    mkdirSync(join(folder, 'bin'))
    symlinkSync(executable, join(folder, 'bin/modelgate'))
    expect(await typeAndTab('bash', join(folder, 'script'), 'modelgate generate --profile w', folder)).toBe(
      'modelgate generate --profile work ',
    )
  },
)

test('a manifest runs, once, and its assets are shown on a page', async () => {
  const cwd = temporaryFolder()
  const job = '{ image create: { model: my-own, prompt: A boat, size: 256x256 }, out: boat.png }'
  writeFiles(cwd, { 'modelgate.yaml': `version: 1\njobs:\n  boat: ${job}\n` })
  expect(await call(cwd, ['run', '--sandbox'])).toEqual([0, '.modelgate/sandbox/boat.png\n'])
  const report = await call(cwd, ['run', 'report', '--embed', '--sandbox'])
  expect(report).toEqual([0, '.modelgate/sandbox/report.html\n'])
  const page = readFileSync(join(cwd, '.modelgate/sandbox/report.html'), 'utf8')
  expect(page).toMatch(/^<!doctype html>/i)
  expect(page).toContain(readFileSync(join(cwd, '.modelgate/sandbox/boat.png')).toString('base64'))
  const second = await endOf(['run', '--sandbox'], placed(cwd))
  expect(second).toMatchObject({ exit: 0, stderr: '1 instance: 1 fresh\n' })
})

test('no foreign code is run, nor by the thread that checks a schema, which has options of its own', async () => {
  const folder = temporaryFolder()
  const [project, evidence] = [join(folder, 'project'), join(folder, 'evidence')]
  mkdirSync(evidence)
  const trap = (name: string) =>
    `require('node:fs').writeFileSync(${JSON.stringify(join(evidence, name))}, '')`
  writeFiles(project, {
    'person.json': readFileSync(join(examples, 'person.json')),
    'trap.cjs': trap('options'),
    'node.config.json': JSON.stringify({ nodeOptions: { require: ['./trap.cjs'] } }),
    'url.js': trap('url'),
  })
  const traps = plantTraps([project, folder], evidence)
  const words = ['respond', '--sandbox', '--schema', 'person.json', 'Hi']
  const env = { NODE_OPTIONS: `--require ${project}/trap.cjs`, NODE_PATH: project }
  const [exit] = await call(project, words, env)
  expect({ exit, sprung: traps.sprung() }).toEqual({ exit: 0, sprung: [] })
})
