import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { skipOnWindows, windowsEnvironment } from '../support/skip-on-windows.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const launcher = fileURLToPath(new URL('../../bin/modelgate.js', import.meta.url))

/** The words that start the package, for tests of what only it does. */
export const packagedProgram = [process.execPath, launcher]

/** The package, or the single executable that this variable names. */
const { MODELGATE_EXECUTABLE: executable } = process.env
const builtProgram = executable === undefined ? packagedProgram : [executable]

/** Where compiled code is kept (`vitest.config.ts`): in a new home directory the program finds none. */
export const codeCache = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

export interface SpawnOptions {
  /** The words that start the program, instead of those of the package. */
  readonly program?: readonly string[]
  /** Standard input; /dev/null when left out. */
  readonly stdin?: 'pipe'
  /** A line of bash in which `modelgate` is the program, instead of the program alone. */
  readonly shell?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
}

export interface Ended {
  /** The exit code, or the name of the signal that ended the process. */
  readonly exit: number | NodeJS.Signals
  readonly stdout: Buffer
  readonly stderr: string
}

export interface Spawned {
  readonly process: ChildProcess
  /** What has come so far. */
  readonly stdout: Buffer
  readonly stderr: string
  /** Everything, once the process has ended. The key is in none of it, nor in a file. */
  readonly ended: Promise<Ended>
}

/** Starts the built program as a process of its own, with a home directory and an environment made for it alone. */
export function spawnProgram(
  argv: readonly string[],
  { program = builtProgram, stdin, shell, env = {}, cwd }: SpawnOptions = {},
): Spawned {
  if (shell !== undefined) skipOnWindows('bash of its own')
  const home = temporaryFolder()
  const key = canaryKey()
  const script = `modelgate() { ${program.map((word) => `'${word}'`).join(' ')} "$@"; }; ${shell}`
  const [command, ...args] =
    shell === undefined ? [...program, ...argv] : ['bash', '-c', script, 'bash', ...argv]
  const child = spawn(command!, args, {
    stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
    cwd: cwd ?? home,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      ...windowsEnvironment(env['HOME'] ?? home),
      NODE: process.execPath,
      LAUNCHER: launcher,
      MODELGATE_API_KEY: key,
      // A test with a home of its own sees what the program makes there.
      ...('HOME' in env ? {} : codeCache),
      ...env,
    },
  })
  const kill = child.kill.bind(child)
  onTestFinished(() => void kill('SIGKILL'))
  child.kill = (signal) => {
    if (signal !== 'SIGKILL') skipOnWindows('signals that a program could handle')
    return kill(signal)
  }
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.on('data', (chunk: Buffer) => {
      chunks[name].push(chunk)
      expectNoKeyInArguments(child, key)
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const { stdout, stderr } = running
      try {
        expectNoKey('standard output', stdout, key)
        expectNoKey('standard error', stderr, key)
        expectNoKeyBelow(home, key)
        resolve({ exit: code ?? signal!, stdout, stderr })
      } catch (error) {
        reject(error)
      }
    })
  })
  const running: Spawned = {
    process: child,
    ended,
    get stdout() {
      return Buffer.concat(chunks.stdout)
    },
    get stderr() {
      return Buffer.concat(chunks.stderr).toString()
    },
  }
  return running
}

/** Whether there is this shell, where shells are. */
export const isShell = (name: string) =>
  process.platform !== 'win32' && spawnSync(name, ['-c', 'true']).status === 0

/** How a call of it ends. */
export async function endOf(argv: readonly string[], options: SpawnOptions = {}) {
  const { exit, stdout, stderr } = await spawnProgram(argv, options).ended
  return { exit, stdout: stdout.toString(), stderr }
}

/** What everybody on the machine can read of a process. */
function expectNoKeyInArguments({ pid }: ChildProcess, key: string): void {
  const file = `/proc/${pid}/cmdline`
  if (existsSync(file)) expectNoKey(file, readFileSync(file), key)
}
