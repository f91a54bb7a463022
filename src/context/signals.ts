import { Interrupted, exitCodes } from '../errors.ts'

const exits = { SIGHUP: 'hangup', SIGINT: 'interrupt', SIGTERM: 'terminate' } as const

type SignalName = keyof typeof exits

const signalNames = Object.keys(exits) as SignalName[]

/** How long cleaning up after a signal may take. */
const longestCleanUpMs = 1_000

/**
 * On Ctrl-C npm and npx pass on to the program the signal that the terminal has sent it already.
 * So soon no person presses it again.
 */
const copyMs = 200

/** What of Node's `process` is needed here. */
export interface SignalProcess {
  readonly pid: number
  readonly platform: NodeJS.Platform
  exitCode?: number | string | null | undefined
  on(name: SignalName, listener: () => void): unknown
  removeAllListeners(name: SignalName): unknown
  kill(pid: number, name: SignalName): unknown
  exit(code: number): unknown
}

interface SignalClock {
  /** Milliseconds. */
  monotonic(): number
  timer(ms: number, callback: () => void): unknown
}

/**
 * Obeys SIGHUP, SIGINT and SIGTERM: the first aborts, so that the command can clean up; a second one, or a second after
 * the first, ends the process at once. The process then dies of the signal, by which a shell knows to stop a loop.
 * @param abort called once, with the `Interrupted` of the first signal
 * @returns ends the process after the command: resolves when only the exit code was to be set
 */
export function obeySignals(
  host: SignalProcess,
  clock: SignalClock,
  abort: (reason: Interrupted) => void,
): (exitCode: number, flush: () => Promise<unknown>) => Promise<void> {
  let first: { readonly name: SignalName; readonly at: number } | undefined
  let isOver = false

  const die = (name: SignalName) => {
    const { code } = exitCodes[exits[name]]
    host.exitCode = code
    // Windows knows no such death.
    if (host.platform !== 'win32') {
      // Without listeners the signal has its default action again.
      host.removeAllListeners(name)
      host.kill(host.pid, name)
    }
    // Process 1 of a container is immune to its own signals.
    host.exit(code)
  }

  for (const name of signalNames) {
    host.on(name, () => {
      if (isOver) return die(name)
      if (first !== undefined) {
        const isCopy = name === first.name && clock.monotonic() - first.at < copyMs
        return isCopy ? undefined : die(name)
      }
      first = { name, at: clock.monotonic() }
      abort(new Interrupted(exits[name]))
      // Whoever reads standard output may have stopped reading: what is left to write does not keep us longer.
      clock.timer(longestCleanUpMs, () => die(name))
    })
  }

  return async (exitCode, flush) => {
    host.exitCode = exitCode
    // A question on the terminal gets Ctrl-C as a key: there is no signal, but it has to end like one.
    const name = first?.name ?? signalNames.find((signal) => exitCodes[exits[signal]].code === exitCode)
    isOver = name === undefined
    if (name === undefined) return
    await flush()
    die(name)
  }
}
