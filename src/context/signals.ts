import { Interrupted, exitCodes } from '../errors.ts'

/** SIGBREAK is Ctrl-Break, which only Windows has; CI runners there end a step with it that Ctrl-C has not ended. */
const exits = { SIGHUP: 'hangup', SIGINT: 'interrupt', SIGTERM: 'terminate', SIGBREAK: 'terminate' } as const

type SignalName = keyof typeof exits

const signalNames = Object.keys(exits) as SignalName[]

/** npm and npx forward a signal that the terminal has sent here already; a second key press does not follow as quickly. */
const duplicateMs = 200

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
  monotonic(): number
  timer(ms: number, callback: () => void): unknown
}

/**
 * The first signal aborts, so that the command can clean up; another one, or the end of the time for that, kills the
 * process. It dies of the signal itself, by which a shell stops a loop, unless only a signal ends it (`isExpected`).
 * @returns ends the process after the command; resolves when only the exit code had to be set
 */
export function obeySignals(
  host: SignalProcess,
  clock: SignalClock,
  abort: (reason: Interrupted) => void,
): (exitCode: number, flush: () => Promise<unknown>) => Promise<void> {
  let first: { readonly name: SignalName; readonly at: number; readonly reason: Interrupted } | undefined
  let hasEnded = false

  const die = (name: SignalName) => {
    const { code } = exitCodes[exits[name]]
    host.exitCode = code
    // Windows has no signals.
    if (host.platform !== 'win32') {
      // Without listeners the signal has its default action.
      host.removeAllListeners(name)
      host.kill(host.pid, name)
    }
    // Process 1 of a container is immune to its own signals.
    host.exit(code)
  }

  for (const name of signalNames) {
    host.on(name, () => {
      if (hasEnded) return die(name)
      if (first !== undefined) {
        const isDuplicate = name === first.name && clock.monotonic() - first.at < duplicateMs
        return isDuplicate ? undefined : die(name)
      }
      const reason = new Interrupted(exits[name])
      first = { name, at: clock.monotonic(), reason }
      abort(reason)
      // The reader of standard output may be stuck, so do not wait longer for unwritten output.
      clock.timer(reason.cleanUpMs, () => die(name))
    })
  }

  return async (exitCode, flush) => {
    host.exitCode = exitCode
    // A prompt in raw mode receives Ctrl-C as a key, not as a signal; the process must still end as by SIGINT.
    const name = first?.name ?? signalNames.find((signal) => exitCodes[exits[signal]].code === exitCode)
    hasEnded = name === undefined
    if (name === undefined) return
    await flush()
    if (first?.reason.isExpected) host.exit(exitCode)
    else die(name)
  }
}
