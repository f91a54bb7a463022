/**
 * Builds the program as one file that needs no Node, for the machine that runs this: dist-executable/modelgate, the
 * licences of all that is in it, and its bill of materials. `npm run executable`; on macOS, `-- --identity NAME` signs
 * with a certificate.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Script } from 'node:vm'
import { warmUp } from './executable/warm-up.ts'
import { buildProgram, threads, type BundledFiles } from './rolldown.ts'

const root = join(import.meta.dirname, '..')
const name = process.platform === 'win32' ? 'modelgate.exe' : 'modelgate'

/** A piece of the scripts that an executable consists of besides the bundle. */
function piece(name: string): string {
  return readFileSync(join(import.meta.dirname, 'executable', name), 'utf8')
}

/** What the bundle is as assets, by name: chunks as the functions that `executable/loader.cjs` calls, and their code. */
function assetsOf(
  files: BundledFiles,
  codeOf: (name: string, source: string) => Uint8Array,
): [string, string | Uint8Array][] {
  return files.flatMap((file) => {
    if (file.type === 'asset') return [[file.fileName, file.source]]
    const source = `(function(exports,require,module,__filename,__dirname){${file.code}\n})`
    return [
      [file.fileName, source],
      [`${file.fileName}.v8`, codeOf(file.fileName, source)],
    ]
  })
}

/**
 * Puts everything into a copy of this Node.
 * @param start what each script begins with
 * @param codeOf what V8 has compiled of a chunk
 * @throws {Error} when Node cannot do that
 */
function assemble(
  files: BundledFiles,
  target: string,
  start: string,
  codeOf: (name: string, source: string) => Uint8Array,
): void {
  const folder = mkdtempSync(join(work, 'parts-'))
  const main = join(folder, 'main')
  writeFileSync(main, `${start}${piece('main.cjs')}`)
  const assets = [
    ...assetsOf(files, codeOf),
    ...Object.keys(threads).map((name) => [`${name}.thread.cjs`, `${start}load('./${name}.cjs')\n`] as const),
  ]
  const paths = assets.map(([name, content], index) => {
    const path = join(folder, `asset-${index}`)
    writeFileSync(path, content)
    return [name, path]
  })
  const completions = readdirSync(join(root, 'completions')).map((name) => [
    name,
    join(root, 'completions', name),
  ])
  const settings = {
    main,
    output: target,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS could have it run foreign code.
    execArgvExtension: 'none',
    // That signal would open Node's debugger on a port, where the key can be read.
    execArgv: ['--disable-sigusr1'],
    assets: Object.fromEntries([...paths, ...completions]) as object,
  }
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify(settings))
  run(process.execPath, ['--build-sea', config])
  if (process.platform === 'darwin') sign(target)
}

/** macOS runs nothing whose signature does not fit; V8 needs the entitlements as soon as the runtime is hardened. */
function sign(target: string): void {
  const hardened = identity === undefined ? [] : ['--options', 'runtime', '--timestamp']
  const entitlements = ['--entitlements', join(import.meta.dirname, 'executable/entitlements.plist')]
  run('codesign', ['--force', '--sign', identity ?? '-', ...hardened, ...entitlements, target])
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`)
}

/** Compiled code of the chunks that the warm-up ran, and of the others as much as V8 compiles before they run. */
function codeFrom(folder: string): (name: string, source: string) => Uint8Array {
  return (name, source) => {
    const path = join(folder, `${name}.v8`)
    if (!existsSync(path)) return new Script(source, { filename: name }).createCachedData()
    const cachedData = readFileSync(path)
    const { cachedDataRejected } = new Script(source, { filename: name, cachedData })
    if (cachedDataRejected) throw new Error(`The compiled code of ${name} would be rejected at each start.`)
    return cachedData
  }
}

/** The licence file of this Node: beside or above it, or in the package of npm that has brought it. */
function nodeLicence(): string {
  const { platform, arch } = process
  const system = `${platform === 'win32' ? 'win' : platform}-${arch}`
  const places = [
    'LICENSE',
    '../LICENSE',
    `../node_modules/node-${system}/LICENSE`,
    `../node_modules/node-bin-${system}/LICENSE`,
  ]
  const path = places.map((place) => join(dirname(process.execPath), place)).find((path) => existsSync(path))
  if (path === undefined) throw new Error(`The licence of ${process.execPath} is not beside it.`)
  return readFileSync(path, 'utf8')
}

/** The notices of the bundle, with Node in front of it. */
function notices(text: string): string {
  const head = `The executable is Node.js ${process.versions.node}, with a bundle in it. The licences of Node.js are at the end.`
  return `${head} ${text}\n${'='.repeat(78)}\nNode.js\n\n${nodeLicence()}`
}

function checkNode(): void {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    devDependencies: { node: string }
  }
  if (process.versions.node !== devDependencies.node) {
    throw new Error(
      `The executable is made of Node ${devDependencies.node}; this is ${process.versions.node}.`,
    )
  }
  // V8 takes compiled code only with the options that it was compiled with.
  if (process.env['NODE_OPTIONS'] || process.execArgv.length > 0) {
    throw new Error('The executable must be built without options of Node: unset NODE_OPTIONS.')
  }
}

const { identity } = parseArgs({ options: { identity: { type: 'string' } } }).values
checkNode()
const work = mkdtempSync(join(tmpdir(), 'modelgate-executable-'))
try {
  const out = join(root, 'dist-executable')
  mkdirSync(out, { recursive: true })
  const write = (name: string, text: string) =>
    writeFileSync(join(out, name), name === 'THIRD-PARTY-NOTICES' ? notices(text) : text)
  const files = await buildProgram(write, { node: process.versions })
  const first = join(work, name)
  assemble(files, first, piece('recorder.cjs') + piece('loader.cjs'), () => new Uint8Array())
  const code = join(work, 'code')
  warmUp(first, join(work, 'home'), code)
  assemble(files, join(out, name), piece('loader.cjs'), codeFrom(code))
} finally {
  rmSync(work, { recursive: true, force: true })
}
