import { spawn } from '@lydell/node-pty'
import { Terminal } from '@xterm/headless'
import { onTestFinished } from 'vitest'
import { expectNoCanary } from './canary-key.ts'
import { skipOnWindows } from './skip-on-windows.ts'

export interface ScreenOptions {
  readonly columns?: number
  readonly rows?: number
  /** The whole environment of the program; `TERM` is set unless given. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Keys to press once the screen shows a text. */
  readonly type?: readonly { readonly when: string | RegExp; readonly keys: string }[]
}

export type ScreenResult = Awaited<ReturnType<typeof runOnScreen>>

/**
 * After the program this tells its exit code in a control sequence and waits. What the program has written comes before
 * it; at the end of the last process in a pseudo-terminal, what nobody has read yet may be thrown away.
 */
const shellScript = `trap : INT; "$@"; printf '\\033]exit;%d\\007' $?; read -r line`
const exitSequence = /\u001b\]exit;(\d+)\u0007/

/**
 * Runs a program in a pseudo-terminal to its end and reads the screen of a real terminal emulator.
 * @param program the path of a Node script, or the words that start another program
 */
export async function runOnScreen(
  program: string | readonly string[],
  args: readonly string[] = [],
  { columns = 80, rows = 24, env = {}, cwd, type = [] }: ScreenOptions = {},
) {
  skipOnWindows('shell to hold a pseudo-terminal open')
  const terminal = new Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
  const keystrokes = [...type]
  /** What was on the screen at the time of each key. */
  const screens: string[][] = []
  let bytes = ''
  const words = typeof program === 'string' ? [process.execPath, program] : program
  const shell = spawn('sh', ['-c', shellScript, 'sh', ...words, ...args], {
    cols: columns,
    rows,
    env: { TERM: 'xterm-256color', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  onTestFinished(() => shell.kill('SIGKILL'))
  shell.onData((data) => {
    bytes += data
    const exit = exitSequence.exec(bytes)
    if (exit !== null) end(Number(exit[1]))
    const next = keystrokes[0]
    if (next === undefined || !hasCome(bytes, next.when)) return terminal.write(data)
    keystrokes.shift()
    terminal.write(data, () => {
      screens.push(linesOf(terminal))
      shell.write(next.keys)
    })
  })
  const exitCode = await ended
  await new Promise<void>((resolve) => terminal.write('', resolve))
  expectNoCanary('what came to the terminal', bytes)
  return { lines: linesOf(terminal), screens, bytes: bytes.replace(exitSequence, ''), exitCode }
}

function hasCome(bytes: string, when: string | RegExp): boolean {
  return typeof when === 'string' ? bytes.includes(when) : when.test(bytes)
}

/** What a person sees, scrolled-off lines included, without blanks at the end. */
export function linesOf(terminal: Terminal): string[] {
  const { active } = terminal.buffer
  const lineAt = (index: number) => active.getLine(index)?.translateToString(true) ?? ''
  const lines = Array.from({ length: active.length }, (_, index) => lineAt(index))
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
}
