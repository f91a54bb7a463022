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
import { build, type OutputAsset, type OutputChunk } from 'rolldown'
import { billOfMaterials } from './bill-of-materials.build.ts'
import { warmUp } from './executable/warm-up.ts'
import { bundle, completionBundle, filesOf } from './rolldown.build.ts'
import { thirdPartyNotices } from './third-party-notices.build.ts'

const root = import.meta.dirname
const name = process.platform === 'win32' ? 'modelgate.exe' : 'modelgate'

type Files = readonly (OutputChunk | OutputAsset)[]

/** A piece of the scripts that an executable consists of besides the bundle. */
function piece(name: string): string {
  return readFileSync(join(root, 'executable', name), 'utf8')
}

/** What the bundle is as assets, by name: chunks as the functions that `executable/loader.cjs` calls, and their code. */
function assetsOf(
  files: Files,
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
 * @param folder for what is only needed on the way
 * @param start what each script begins with
 * @param codeOf what V8 has compiled of a chunk
 * @throws {Error} when Node cannot do that
 */
function assemble(
  files: Files,
  {
    folder,
    target,
    start,
    codeOf,
  }: {
    readonly folder: string
    readonly target: string
    readonly start: string
    readonly codeOf: (name: string, source: string) => Uint8Array
  },
): void {
  mkdirSync(folder)
  // The entries of the bundle besides `main` run in threads (`src/files/program-files.ts`).
  const threads = Object.keys(bundle.input as object).filter((name) => name !== 'main')
  const assets = [
    ...assetsOf(files, codeOf),
    ...threads.map((name) => [`${name}.thread.cjs`, `${start}load('./${name}.cjs')\n`] as const),
  ]
  const completions = readdirSync(join(root, 'completions')).map(
    (name) => [name, join(root, 'completions', name)] as const,
  )
  const main = join(folder, 'main')
  writeFileSync(main, `${start}${piece('main.cjs')}`)
  const paths = assets.map(([name, content], index) => {
    const path = join(folder, `asset-${index}`)
    writeFileSync(path, content)
    return [name, path] as const
  })
  const config = join(folder, 'config.json')
  const settings = {
    main,
    output: target,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS could have it run foreign code.
    execArgvExtension: 'none',
    // That signal would open Node's debugger on a port, where the key can be read.
    execArgv: ['--disable-sigusr1'],
    assets: Object.fromEntries([...paths, ...completions]),
  }
  writeFileSync(config, JSON.stringify(settings))
  run(process.execPath, ['--build-sea', config])
  if (process.platform === 'darwin') sign(target)
}

/** macOS runs nothing whose signature does not fit; V8 needs the entitlements as soon as the runtime is hardened. */
function sign(target: string): void {
  const hardened = identity === undefined ? [] : ['--options', 'runtime', '--timestamp']
  const entitlements = ['--entitlements', join(root, 'executable/entitlements.plist')]
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

/** What the executable consists of: Node, and the bundle in it. */
function notices(files: Files): string {
  const head = `The executable is Node.js ${process.versions.node}, with a bundle in it. The licences of Node.js are at the end.`
  return `${head} ${thirdPartyNotices(filesOf(files))}\n${'='.repeat(78)}\nNode.js\n\n${nodeLicence()}`
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
  const [program, completion] = await Promise.all(
    [bundle, completionBundle].map((options) => build({ ...options, write: false })),
  )
  const files = [...program!.output, ...completion!.output]
  const first = join(work, name)
  const loader = piece('loader.cjs')
  assemble(files, {
    folder: join(work, 'first'),
    target: first,
    start: piece('recorder.cjs') + loader,
    codeOf: () => new Uint8Array(),
  })
  const code = join(work, 'code')
  warmUp(first, join(work, 'home'), code)
  const target = join(root, 'dist-executable', name)
  mkdirSync(dirname(target), { recursive: true })
  assemble(files, { folder: join(work, 'second'), target, start: loader, codeOf: codeFrom(code) })
  writeFileSync(join(root, 'dist-executable/THIRD-PARTY-NOTICES'), notices(files))
  const bill = billOfMaterials(filesOf(files), { node: process.versions })
  writeFileSync(join(root, 'dist-executable/modelgate.cdx.json'), bill)
} finally {
  rmSync(work, { recursive: true, force: true })
}
