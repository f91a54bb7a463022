import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { load } from 'js-yaml'
import { onTestFinished } from 'vitest'
import { launcher } from '../black-box/spawn-program.ts'
import { projectRoot, readPage } from '../support/pages.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { ActionsServices } from './actions-services.ts'

interface ActionFile {
  readonly name: string
  readonly runs: { readonly using: string; readonly main: string; readonly post: string }
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default?: string }>>
  readonly outputs: Readonly<Record<string, { readonly description: string }>>
}

export const actionFile = load(readPage('action.yml')) as ActionFile
export const { version } = JSON.parse(readPage('package.json')) as { version: string }

export interface StepOptions {
  readonly services: ActionsServices
  readonly with?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** The payload of the event. */
  readonly event?: object
  /** The number of the workflow run. */
  readonly run?: number
}

export type Runner = ReturnType<typeof runner>

/** A token of a job, as the artifact service reads it. */
const runtimeToken = `e30.${Buffer.from('{"scp":"Actions.Results:run:job"}').toString('base64url')}.x`

/** A machine on which nothing is but an operating system: no Node, no project, nobody's home. */
export function runner() {
  const root = temporaryFolder()
  const workspace = join(root, 'work/repo')
  const [bin, temp, tools] = [join(root, 'bin'), join(root, 'temp'), join(root, 'tools')]
  for (const folder of [workspace, bin, temp, tools]) mkdirSync(folder, { recursive: true })
  for (const tool of ['sh', 'tar', 'gzip']) symlinkSync(findOnPath(tool), join(bin, tool))
  let steps = 0
  return {
    root,
    /** The checkout. */
    workspace,
    /** The only folder of the PATH. */
    bin,
    /** Adds a program. */
    install(name: string, script: string) {
      writeScript(join(bin, name), script)
    },
    /** A version in the tool cache, which does nothing but tell what it is. */
    tool(version: string) {
      const folder = join(tools, 'modelgate', version, process.arch)
      writeFiles(folder, { [`../${process.arch}.complete`]: '' })
      writeScript(join(folder, 'modelgate'), `echo ${version}`)
    },
    /** A checkout as `actions/checkout` makes it: what is not in the repository is gone. */
    checkout(files: Readonly<Record<string, string>>) {
      rmSync(workspace, { recursive: true })
      mkdirSync(workspace)
      writeFiles(workspace, files)
    },
    step({ services, with: given = {}, env = {}, event = {}, run = 1 }: StepOptions) {
      const unknown = Object.keys(given).filter((name) => !(name in actionFile.inputs))
      if (unknown.length > 0) throw new Error(`action.yml has no input ${unknown.join(', ')}`)
      const inputs = Object.entries(actionFile.inputs).map(([name, { default: preset = '' }]) => {
        const value = given[name] ?? preset.replace('${{ github.token }}', 'ghs_token')
        return [`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`, value]
      })
      const folder = join(root, `step-${steps++}`)
      const names = ['OUTPUT', 'STEP_SUMMARY', 'PATH', 'STATE', 'ENV']
      const empty = Object.fromEntries(names.map((name) => [name, '']))
      writeFiles(folder, { 'event.json': JSON.stringify(event), ...empty })
      const whole = {
        PATH: bin,
        HOME: join(root, 'nobody'),
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION: '__modelgate_modelgate',
        GITHUB_EVENT_PATH: join(folder, 'event.json'),
        GITHUB_JOB: 'assets',
        GITHUB_REPOSITORY: 'shop/site',
        GITHUB_RUN_ATTEMPT: '1',
        GITHUB_RUN_ID: String(run),
        GITHUB_SERVER_URL: 'https://github.com',
        GITHUB_API_URL: services.url,
        GITHUB_WORKSPACE: workspace,
        ...Object.fromEntries(names.map((name) => [`GITHUB_${name}`, join(folder, name)])),
        RUNNER_OS: 'Linux',
        RUNNER_ARCH: 'X64',
        RUNNER_TEMP: temp,
        RUNNER_TOOL_CACHE: tools,
        ACTIONS_RUNTIME_TOKEN: runtimeToken,
        ACTIONS_RESULTS_URL: `${services.url}/`,
        ACTIONS_CACHE_SERVICE_V2: 'True',
        ...Object.fromEntries(inputs),
        ...env,
      }
      const read = (name: string) => readFileSync(join(folder, name), 'utf8')
      const start = (main: string, env: Record<string, string>) => {
        const script = fileURLToPath(new URL(main, projectRoot))
        const { process: child, ended } = logged(process.execPath, [script], workspace, env)
        const whole = ended.then(({ exit, log }) => {
          // What it has added to the PATH of later steps.
          const path = read('PATH').split('\n').filter(Boolean)
          return { exit, log, outputs: valuesOf(read('OUTPUT')), summary: read('STEP_SUMMARY'), path }
        })
        return { process: child, ended: whole }
      }
      return {
        ...start(actionFile.runs.main, whole),
        /** The end of the job, after the step. */
        post() {
          const env: Record<string, string> = { ...whole }
          for (const [name, value] of Object.entries(valuesOf(read('STATE')))) env[`STATE_${name}`] = value
          return start(actionFile.runs.post, env).ended
        },
      }
    },
  }
}

/** Starts a program, and tells how it ends, and what it writes to both streams. */
export function logged(program: string, words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (log += String(text)))
  const ended = once(child, 'close').then(([code, signal]: (number | NodeJS.Signals | null)[]) => {
    return { exit: code ?? signal!, log }
  })
  return { process: child, ended }
}

function writeScript(path: string, script: string): void {
  writeFiles(dirname(path), { [basename(path)]: `#!/bin/sh\n${script}\n` })
  chmodSync(path, 0o755)
}

/** The path of a program of this machine. @throws Error */
export function findOnPath(tool: string): string {
  const folder = process.env['PATH']!.split(':').find((folder) => existsSync(join(folder, tool)))
  if (folder === undefined) throw new Error(`${tool} is not installed`)
  return join(folder, tool)
}

/** Of a file of outputs or of state, as the runner reads it; the last value of a name counts. */
function valuesOf(text: string): Record<string, string> {
  const values: Record<string, string> = {}
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const [, name, delimiter] = /^([^=]+?)<<(.+)$/.exec(line) ?? []
    if (name === undefined) {
      if (line !== '') values[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1)
      continue
    }
    const end = lines.indexOf(delimiter!, at)
    values[name] = lines.slice(at + 1, end).join('\n')
    at = end
  }
  return values
}

/** A line of shell that starts the built program, with whatever PATH there is. */
export const startsProgram = `NODE_COMPILE_CACHE='${process.env['NODE_COMPILE_CACHE']}' exec '${process.execPath}' '${launcher}' "$@"`

/**
 * Puts a release on the server, with an archive for this machine, and its checksum.
 * @returns the path of the archive
 */
export function release(services: ActionsServices, { named = version, script = startsProgram } = {}): string {
  const folder = temporaryFolder()
  const name = `modelgate-${named}-linux-${process.arch}`
  writeFiles(folder, { [`${name}/LICENSE`]: 'MIT' })
  writeScript(join(folder, name, 'modelgate'), script)
  spawnSync('tar', ['-czf', `${name}.tar.gz`, name], { cwd: folder })
  return put(services, named, `${name}.tar.gz`, readFileSync(join(folder, `${name}.tar.gz`)))
}

/** The npm package in its place. */
export function packageRelease(services: ActionsServices): void {
  const file = join(temporaryFolder(), 'package.tgz')
  const renamed = ['--transform', 's,^,package/,', '--use-compress-program', 'gzip -1']
  spawnSync('tar', ['-cf', file, ...renamed, 'bin', 'dist', 'package.json'], { cwd: projectRoot })
  put(services, version, `modelgate-${version}.tgz`, readFileSync(file))
}

function put(services: ActionsServices, named: string, name: string, bytes: Buffer): string {
  const digest = createHash('sha256').update(bytes).digest('hex')
  services.files.set(`/releases/v${named}/${name}`, bytes)
  services.files.set(`/releases/v${named}/SHA256SUMS`, `${'0'.repeat(64)}  other.zip\n${digest}  ${name}\n`)
  return `/releases/v${named}/${name}`
}

/** The files of an archive that was uploaded, in a folder. */
export function unpacked(bytes: Buffer): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'archive'), bytes)
  mkdirSync(join(folder, 'files'))
  const { status, stderr } = spawnSync('tar', ['-xf', '../archive'], { cwd: join(folder, 'files') })
  if (status !== 0) throw new Error(String(stderr))
  return join(folder, 'files')
}

/** The files of a zip archive, in a folder. */
export function unzipped(bytes: Buffer): string {
  const folder = temporaryFolder()
  const end = bytes.lastIndexOf('PK\x05\x06')
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const short = (place: number) => bytes.readUInt16LE(place)
    const [name, extra, comment] = [short(at + 28), short(at + 30), short(at + 32)]
    const local = bytes.readUInt32LE(at + 42)
    const start = local + 30 + short(local + 26) + short(local + 28)
    const data = bytes.subarray(start, start + bytes.readUInt32LE(at + 20))
    const path = bytes.toString('utf8', at + 46, at + 46 + name)
    writeFiles(folder, { [path]: short(at + 10) === 8 ? inflateRawSync(data) : data })
    at += 46 + name + extra + comment
  }
  return folder
}
