/**
 * Packs what was built last, installs it in an empty project without a network, and runs it there. `npm run package`
 * builds it first.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildProgram } from '../../build/rolldown.ts'
import { sourceFacts } from './source-facts.ts'

const root = join(import.meta.dirname, '../..')
interface Manifest {
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
}

const [own, action] = ['package.json', 'action/package.json'].map(
  (path) => JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest,
)
const folder = mkdtempSync(join(tmpdir(), 'modelgate-package-'))
const project = join(folder, 'project')

try {
  checkPinned()
  const packed = pack()
  checkFiles(packed.files.map(({ path }) => path))
  install(join(folder, packed.filename))
  checkImports(join(project, 'node_modules/modelgate/dist'))
  await checkThirdParties(join(project, 'node_modules/modelgate'))
  checkRuns()
  console.log(
    `The package is right: ${packed.files.length} files, ${Math.round(packed.size / 1024)} KB packed.`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

function pack(): Packed {
  const output = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root)
  // One object in an array, or by the package's name, depending on npm's version.
  const [packed] = Object.values(JSON.parse(output.slice(output.search(/^[[{]$/m))) as Record<string, Packed>)
  assert(packed !== undefined)
  return packed
}

/** All of them are bundled or decide what the bundle holds: the same checkout must give the same package. */
function checkPinned(): void {
  const pinned = Object.entries({ ...own!.devDependencies, ...action!.devDependencies })
  const ranges = pinned.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  assert.deepEqual(ranges, [], 'not pinned to one version')
}

function checkFiles(paths: readonly string[]): void {
  const wanted = [
    'LICENSE',
    'README.md',
    'THIRD-PARTY-NOTICES',
    'modelgate.cdx.json',
    'package.json',
    'bin/modelgate.js',
    'dist/main.cjs',
    'dist/complete.cjs',
    'man/modelgate.1',
    'skills/modelgate/SKILL.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
    ...readdirSync(join(root, 'completions')).map((name) => `completions/${name}`),
  ]
  const missing = wanted.filter((path) => !paths.includes(path))
  assert.deepEqual(missing, [], 'missing from the package')
  const isBundled = (path: string) => /^dist\/[\w-]+\.(?:cjs|wasm)$/.test(path)
  const strange = paths.filter((path) => !wanted.includes(path) && !isBundled(path))
  assert.deepEqual(strange, [], 'does not belong into the package')
}

function install(tarball: string): void {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], project)
}

/** Whatever is not in the bundle would be missing at the user's, even where no run below comes by. */
function checkImports(dist: string): void {
  const known = new Set(builtinModules)
  const foreign = readdirSync(dist)
    .filter((name) => name.endsWith('.cjs'))
    .flatMap((name) => sourceFacts(readFileSync(join(dist, name), 'utf8'), 'js').imports)
    .filter((name) => !/^(\.\/|node:)/.test(name) && !known.has(name))
  assert.deepEqual(foreign, [], 'imported by the bundle and not in it')
}

/** The same checkout must give the same package; each package and each licence of it is found out by the build. */
async function checkThirdParties(installed: string): Promise<void> {
  const again = new Map<string, string>()
  await buildProgram((name, text) => again.set(name, text))
  for (const [name, text] of again) {
    assert.equal(readFileSync(join(installed, name), 'utf8'), text, `another build has another ${name}`)
  }
}

function checkRuns(): void {
  const program = join(project, 'node_modules/.bin/modelgate')
  assert.equal(run(program, ['--version'], project), `${own!.version}\n`)
  assert.match(run(program, ['--help'], project), /modelgate respond --sandbox/)
  const json = run(program, ['generate', '--sandbox', '--json', 'hello'], project)
  const document = JSON.parse(json) as { command: string; text: string }
  assert.equal(document.command, 'generate')
  const [path] = run(program, ['image', 'create', '--sandbox', 'a boat'], project).split('\n')
  assert.match(path!, /^a-boat-.*\.png$/)
  assert.notEqual(document.text, '')
}

/** Runs a program that must succeed, on the Node that runs this file, and returns what it printed. */
function run(name: string, args: readonly string[], cwd: string): string {
  const isWindows = process.platform === 'win32'
  const path = [dirname(process.execPath), process.env['PATH']].join(isWindows ? ';' : ':')
  // npm is a script on Windows.
  const options = { cwd, env: { ...process.env, PATH: path, HOME: folder }, shell: isWindows }
  const limits = { maxBuffer: 64 * 1024 * 1024, timeout: 120_000 }
  const { status, stdout, stderr, error } = spawnSync(name, args, { ...options, ...limits, encoding: 'utf8' })
  if (error !== undefined) throw error
  assert.equal(status, 0, `${name} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}
