import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { spawn } from '@lydell/node-pty'
import type * as Headless from '@xterm/headless'

// Outside of the test runner Node does not see what this module exports.
const { Terminal } = createRequire(import.meta.url)('@xterm/headless') as typeof Headless

/** Tells in the output of the player how much time has passed, in milliseconds; terminals ignore it. */
export function timeMark(elapsed: number): string {
  return `\u001b]7777;${Math.round(elapsed)}\u0007`
}

const marks = /\u001b\]7777;(\d+)\u0007/

/** Cells of one look that follow each other. A colour is `#rrggbb`, a number of the palette, or undefined. */
export interface Run {
  readonly column: number
  /** Cells. */
  readonly width: number
  readonly text: string
  readonly foreground: string | number | undefined
  readonly background: string | number | undefined
  readonly bold: boolean
  readonly dim: boolean
  readonly italic: boolean
  readonly underline: boolean
}

/** A screen, and when it is seen for the first time; milliseconds. */
export interface Frame {
  readonly at: number
  readonly rows: readonly (readonly Run[])[]
}

export interface Recording {
  readonly columns: number
  readonly rows: number
  readonly frames: readonly Frame[]
  /** When the last command had ended. */
  readonly end: number
}

type Session = Pick<Recording, 'columns' | 'rows'> & { readonly cwd: string }

const player = fileURLToPath(new URL('play.ts', import.meta.url))
/** Between two keys of somebody who types. */
const keyMs = 35
/** Before a command is typed, and after Enter. */
const pauseMs = 600
const prompt = '\u001b[32m$\u001b[39m '

/** Types command lines one after the other into a terminal, and records every screen. */
export async function recordSession(
  lines: readonly (readonly string[])[],
  { columns, rows, cwd }: Session,
): Promise<Recording> {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
  const frames: Frame[] = []
  let now = 0
  const show = async (text: string) => {
    await new Promise<void>((resolve) => terminal.write(text, resolve))
    addFrame(frames, { at: now, rows: rowsOf(terminal) })
  }
  for (const argv of lines) {
    await show(prompt)
    now += pauseMs
    for (const key of `modelgate ${argv.map(quoted).join(' ')}`) {
      await show(key)
      now += keyMs
    }
    await show('\r\n')
    const began = (now += pauseMs / 2)
    for (const { at, text } of parted(await play(argv, { columns, rows, cwd }))) {
      now = began + at
      await show(text)
    }
    now += pauseMs
  }
  await show(prompt)
  return { columns, rows, frames, end: now }
}

const quoted = (word: string) => (/[\s"]/.test(word) ? `"${word}"` : word)

async function play(argv: readonly string[], { columns, rows, cwd }: Session): Promise<string> {
  const program = spawn(process.execPath, [player, ...argv], {
    cols: columns,
    rows,
    cwd,
    env: { TERM: 'xterm-256color', COLORTERM: 'truecolor', HOME: cwd },
  })
  let bytes = ''
  program.onData((data) => (bytes += data))
  await new Promise((resolve) => program.onExit(resolve))
  // What was written last may come after the end.
  await new Promise((resolve) => setTimeout(resolve, 50))
  return bytes
}

/** The output by the time at which it was written. */
function parted(bytes: string): { readonly at: number; readonly text: string }[] {
  const parts = `\u001b]7777;0\u0007${bytes}`.split(marks).slice(1)
  return Array.from({ length: parts.length / 2 }, (_, index) => ({
    at: Number(parts[2 * index]),
    text: parts[2 * index + 1]!,
  })).filter(({ text }) => text !== '')
}

/** The wheel of a spinner turns by real time. */
const spinner = /[\u2800-\u28ff]/

function addFrame(frames: Frame[], frame: Frame): void {
  if (frame.rows.some((row) => row.some(({ text }) => spinner.test(text)))) return
  const last = frames.at(-1)
  if (last !== undefined && JSON.stringify(last.rows) === JSON.stringify(frame.rows)) return
  if (last?.at === frame.at) frames.pop()
  frames.push(frame)
}

function rowsOf(terminal: Headless.Terminal): Run[][] {
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, index) => {
    const line = active.getLine(active.baseY + index)
    const runs: Run[] = []
    for (let column = 0; column < terminal.cols; column++) {
      const cell = line?.getCell(column)
      if (cell === undefined || cell.getWidth() === 0) continue
      addCell(runs, column, cell)
    }
    // Blanks at the end show nothing.
    while (runs.at(-1)?.text.trim() === '' && runs.at(-1)?.background === undefined) runs.pop()
    return runs
  })
}

function addCell(runs: Run[], column: number, cell: Headless.IBufferCell): void {
  const run = runOf(column, cell)
  const last = runs.at(-1)
  const joins = last !== undefined && cell.getWidth() === 1 && last.width === last.text.length
  if (!joins || !hasLook(last, run)) return void runs.push(run)
  runs[runs.length - 1] = { ...last, width: last.width + 1, text: last.text + run.text }
}

function runOf(column: number, cell: Headless.IBufferCell): Run {
  const colours = [
    cell.isFgDefault() ? undefined : cell.isFgRGB() ? hex(cell.getFgColor()) : cell.getFgColor(),
    cell.isBgDefault() ? undefined : cell.isBgRGB() ? hex(cell.getBgColor()) : cell.getBgColor(),
  ]
  const [foreground, background] = cell.isInverse() ? colours.toReversed() : colours
  return {
    column,
    width: cell.getWidth(),
    text: cell.getChars() || ' ',
    foreground,
    background,
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    italic: cell.isItalic() !== 0,
    underline: cell.isUnderline() !== 0,
  }
}

const hex = (colour: number) => `#${colour.toString(16).padStart(6, '0')}`

function hasLook(a: Run, b: Run): boolean {
  const looks = ['foreground', 'background', 'bold', 'dim', 'italic', 'underline'] as const
  return looks.every((look) => a[look] === b[look])
}
