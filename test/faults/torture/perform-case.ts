import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, sep } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import { startProgram } from '../../program/start-program.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { withFsHook, type FsHook } from '../../support/fs-faults.ts'
import type { LocalServer } from '../../support/local-server.ts'
import { withSocketHook } from '../../support/socket-faults.ts'
import { typedTerminal } from '../../support/question-terminal.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import type { Call } from '../calls.ts'

/** A call of the program to the system that can fail. */
export interface SystemCall {
  readonly port: 'file' | 'network'
  readonly name: string
  /** Below the home directory; empty for the network. */
  readonly path: string
}

/** One call of a port that fails, counted from 0, with one of the codes that make sense for it. */
export interface Fault {
  readonly port: SystemCall['port']
  readonly at: number
  readonly variant: number
}

/** How a call of the program ended, one of whose calls to the system failed. */
export type CaseEnd = Awaited<ReturnType<typeof performCase>>

const opens = new Set(['open', 'readFile', 'writeFile', 'appendFile', 'readdir', 'opendir', 'copyFile'])
const writes = /^(?:handle\.(?:write|append|truncate|sync|datasync)|write|append|ftruncate|f(?:data)?sync)/
const makes = new Set(['open', 'mkdir', 'mkdtemp', 'rename', 'link', 'symlink', 'copyFile'])
const onDescriptors = /^(?:handle\.|f?(?:read|write|sync|datasync|truncate|stat|close)v?(?:Sync)?$)/

/** The codes with which a call can fail. */
export function codesOf({ port, name }: SystemCall): readonly string[] {
  if (port === 'network') {
    if (name === 'lookup') return ['ENOTFOUND', 'EMFILE']
    return name === 'connect' ? ['ECONNRESET', 'EMFILE'] : ['ECONNRESET']
  }
  // Does not say why.
  if (name === 'existsSync') return ['EACCES']
  const base = name.replace(/Sync$/, '')
  return [
    'EIO',
    ...(writes.test(name) || makes.has(base) || base === 'close' ? ['ENOSPC'] : []),
    ...(opens.has(base) ? ['EMFILE'] : []),
    ...(onDescriptors.test(name) ? [] : ['EACCES']),
  ]
}

/** The message is as Node's: it must not show as it is. */
function systemError(code: string, { name, path }: SystemCall): Error {
  const syscall = name.replace(/^\w+\.|Sync$/g, '')
  return Object.assign(new Error(`${code}: injected, ${syscall} '${path}'`), { code, syscall, errno: -1 })
}

/** Long past what any call takes. */
const limitMs = 20_000
let runs = 0

/** Does something, and lets one of its calls to the system fail: on the network, or below a folder. */
export async function torture<Value>(folder: string, action: () => Promise<Value>, fault?: Fault) {
  /** In order, as far as it came. */
  const calls: SystemCall[] = []
  const counts = { file: 0, network: 0 }
  let failed: (SystemCall & { readonly code: string }) | undefined
  let leftOpen: readonly string[] = []
  const pass = (made: SystemCall): Error | undefined => {
    calls.push(made)
    const at = counts[made.port]++
    if (fault === undefined || made.port !== fault.port || at !== fault.at) return undefined
    const codes = codesOf(made)
    const code = codes[fault.variant % codes.length]!
    failed = { ...made, code }
    return systemError(code, made)
  }
  const passFile = (name: string, path: string) =>
    path.startsWith(folder) ? pass({ port: 'file', name, path: path.slice(folder.length + 1) }) : undefined
  const hook: FsHook = async (name, make, path) => {
    const error = passFile(name, path)
    if (error === undefined) return await make()
    // A handle is closed even when closing it reports an error.
    if (name === 'handle.close') await make()
    throw error
  }
  const limit = new AbortController()
  const hooked = withSocketHook(
    (name) => pass({ port: 'network', name, path: '' }),
    () => withFsHook(hook, action, passFile, (paths) => (leftOpen = paths)),
  )
  const ended = await Promise.race([hooked, setTimeout(limitMs, undefined, { signal: limit.signal })])
  limit.abort()
  return { ended: ended as Value | undefined, calls, failed, leftOpen }
}

/** Runs a call of the program in a folder of its own, and lets one of its calls to the system fail. */
export async function performCase(
  call: Pick<Call, 'argv' | 'how' | 'typed'>,
  home: string,
  server: LocalServer,
  fault?: Fault,
) {
  const begun = server.requests.length
  // Tells its requests from those of other cases.
  const key = `test-key-${randomUUID()}`
  const run = async () => {
    const program = startProgram(call.argv, {
      home,
      cwd: join(home, 'project'),
      // Requests are told apart by their idempotency keys.
      clock: fakeClock({ random: seededRandom('torture', runs++) }),
      ...(call.how === 'chat' && typedTerminal(call.typed)),
      env: {
        HOME: home,
        MODELGATE_BASE_URL: server.url,
        MODELGATE_API_KEY: key,
        MODELGATE_POLL_INTERVAL: '1',
      },
    })
    const exit = await program.passWaits()
    return { exit, stdout: program.context.stdout.text, stderr: program.context.stderr.text }
  }
  const { ended, ...seen } = await torture(home, run, fault)
  const requests = server.requests
    .slice(begun)
    .filter(({ headers }) => headers['authorization'] === `Bearer ${key}`)
  return {
    // Undefined when it has not ended.
    ...(ended ?? { exit: undefined, stdout: '', stderr: '' }),
    files: filesBelow(home),
    requests,
    ...seen,
  }
}

/** The folder of a home in which a call has its files, and what calls before it have left. */
export async function prepareHome(call: Call, server: LocalServer): Promise<string> {
  const home = temporaryFolder()
  mkdirSync(join(home, 'project'))
  writeFiles(join(home, 'project'), call.files ?? {})
  for (const argv of call.before ?? []) {
    const { exit, stderr } = await performCase({ argv, how: 'program' }, home, server)
    // 13: candidates wait for a choice.
    if (exit !== 0 && exit !== 13) throw new Error(`${argv.join(' ')}: ${exit}\n${stderr}`)
  }
  return home
}

/** A copy of that folder, removed after its use. */
export async function inCopy<Value>(
  template: string,
  number: number,
  use: (home: string) => Promise<Value>,
): Promise<Value> {
  const home = `${template}-${number}`
  cpSync(template, home, { recursive: true, preserveTimestamps: true })
  try {
    return await use(home)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

export function filesBelow(folder: string): Record<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + sep.length))
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path))]))
}
