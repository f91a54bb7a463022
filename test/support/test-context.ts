import { systemProcesses, type Context, type Input, type InputKind } from '../../src/context.ts'
import { fakeClock, type FakeClock } from './fake-clock.ts'
import { memorySink, type MemorySink } from './memory-sink.ts'

export interface TestContext extends Context {
  readonly stdout: MemorySink
  readonly stderr: MemorySink
  readonly clock: FakeClock
  /** Aborts `signal`, as a Ctrl-C would with an `Interrupted`. */
  abort(reason: Error): void
}

export interface TestOverrides {
  /** What standard input holds, as a pipe; or a whole `Input`. Empty when left out. */
  readonly stdin?: string | Uint8Array | Input
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly home?: string
  readonly platform?: NodeJS.Platform
  readonly clock?: FakeClock
  readonly terminalId?: string | undefined
  /** Both output streams are terminals. */
  readonly terminal?: boolean
  readonly columns?: number
  readonly stdout?: MemorySink
  readonly stderr?: MemorySink
}

/**
 * A context with everything in memory: no terminal, an empty environment, a clock that stands still. Without a home
 * of its own a test keeps no log.
 */
export function testContext(overrides: TestOverrides = {}): TestContext {
  const controller = new AbortController()
  const { terminal: isTerminal = false, columns = 80 } = overrides
  return {
    stdin: inputOf(overrides.stdin),
    stdout: overrides.stdout ?? memorySink({ isTerminal, columns }),
    stderr: overrides.stderr ?? memorySink({ isTerminal, columns }),
    env: { ...(overrides.home === undefined ? { MODELGATE_HISTORY: 'off' } : {}), ...overrides.env },
    cwd: overrides.cwd ?? '/test/project',
    home: overrides.home ?? '/test/home',
    platform: overrides.platform ?? 'linux',
    nodeVersion: '26.10.0',
    clock: overrides.clock ?? fakeClock(),
    processes: systemProcesses,
    signal: controller.signal,
    program: 'modelgate',
    terminalId: overrides.terminalId,
    abort: (reason) => controller.abort(reason),
  }
}

function inputOf(stdin: TestOverrides['stdin']): Input {
  if (stdin === undefined) return memoryInput('empty', new Uint8Array())
  if (typeof stdin === 'string') return memoryInput('pipe', Buffer.from(stdin))
  return stdin instanceof Uint8Array ? memoryInput('pipe', stdin) : stdin
}

function memoryInput(kind: InputKind, bytes: Uint8Array): Input {
  return {
    kind,
    consumed: 'none',
    async *read() {
      if (bytes.length > 0) yield bytes
    },
    release() {},
    stream: undefined,
  }
}
