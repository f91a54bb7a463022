import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Tests have their own. */
export interface TerminalHost {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** Undefined when it cannot be read. */
  readFile(path: string): string | undefined
  /** Of the terminals among the standard streams; 0 on a system that has no device numbers. */
  devices(): readonly number[]
  /** Although all standard streams may go elsewhere. */
  hasTerminal(): boolean
}

/** What terminals set for each window, tab and pane. All count: one started from another inherits its variables. */
const marks = [
  'TERM_SESSION_ID ITERM_SESSION_ID WT_SESSION KITTY_PID KITTY_WINDOW_ID WEZTERM_UNIX_SOCKET WEZTERM_PANE',
  'ALACRITTY_WINDOW_ID KONSOLE_DBUS_SESSION GNOME_TERMINAL_SCREEN TILIX_ID WINDOWID ConEmuPID SSH_CONNECTION',
  'TMUX TMUX_PANE STY WINDOW ZELLIJ_SESSION_NAME ZELLIJ_PANE_ID',
].flatMap((names) => names.split(' '))

/**
 * The same for all commands of one window, also in pipes. The name of a device alone would not do: the next window gets that of
 * a closed one.
 * @returns undefined without a terminal, and where terminals cannot be distinguished
 */
export function findTerminalId(host: TerminalHost): string | undefined {
  const session = host.platform === 'linux' ? sessionOf(host) : undefined
  if (session !== undefined) return session === 'none' ? undefined : session
  const devices = host.devices()
  if (devices.length === 0 && !host.hasTerminal()) return undefined
  const given = marks.flatMap((name) => (host.env[name] ? [`${name}=${host.env[name]}`] : []))
  if (given.length > 0) return given.join(' ')
  const device = devices.find((number) => number > 0)
  return device === undefined ? undefined : `device ${device}`
}

/**
 * The session on Linux, distinguished from earlier ones by when its leader and the system started (proc_pid_stat(5)).
 * @returns `none` without a controlling terminal; undefined where the system does not say
 */
function sessionOf({ readFile, devices }: TerminalHost): string | undefined {
  const { session, terminal } = statOf(readFile, 'self')
  if (session === undefined) return undefined
  // A standard stream may still be one, of another session: `setsid`.
  if (terminal === '0') return devices().length === 0 ? 'none' : undefined
  const { started } = statOf(readFile, session)
  // The leader has ended, or is out of sight in a container.
  if (started === undefined) return undefined
  const boot = readFile('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return `terminal ${terminal}, session ${session} since ${started}, boot ${boot.slice(0, 8)}`
}

function statOf(readFile: TerminalHost['readFile'], pid: string) {
  // The name, in parentheses, may hold anything.
  const [, rest] = /\) ([^)]*)$/.exec(readFile(`/proc/${pid}/stat`) ?? '') ?? []
  const fields = rest?.split(' ') ?? []
  return fields[19] === undefined ? {} : { session: fields[3], terminal: fields[4], started: fields[19] }
}

export function systemTerminal(env: TerminalHost['env'], platform: NodeJS.Platform): TerminalHost {
  return {
    env,
    platform,
    readFile(path) {
      try {
        return readFileSync(path, 'latin1')
      } catch {
        return undefined
      }
    },
    devices: () => [0, 1, 2].flatMap((descriptor) => (isatty(descriptor) ? [deviceOf(descriptor)] : [])),
    hasTerminal() {
      // Only a process with a controlling terminal can open this.
      if (platform === 'win32') return false
      try {
        closeSync(openSync('/dev/tty', 'r'))
        return true
      } catch {
        return false
      }
    },
  }
}

function deviceOf(descriptor: number): number {
  try {
    return fstatSync(descriptor).rdev
  } catch {
    return 0
  }
}
