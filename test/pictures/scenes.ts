import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordSession, type Frame, type Recording } from './record.ts'
import { animation, still, type Theme } from './svg.ts'

const answer = ['respond', '--sandbox', 'What is a gateway? Answer in Markdown']
const boat = 'A paper boat on a lake'
const image = ['image', 'create', '--sandbox', '-o', 'boat.png', boat]
const video = ['video', 'generate', '--sandbox', '-o', 'boat.mp4', boat]
const remix = ['video', 'remix', '--sandbox', '-o', 'night.mp4', 'video_sandbox_source', 'At night']

interface Scene {
  /** Of the files: `NAME-dark.svg` and `NAME-light.svg`. */
  readonly name: string
  readonly lines: readonly (readonly string[])[]
  readonly rows: number
  /** The screen of a still picture; a scene without one moves. */
  readonly pick?: (recording: Recording) => Frame
}

const last = ({ frames }: Recording): Frame => frames.at(-1)!

/** Half of the bar is the best of it. */
const halfway = ({ frames }: Recording): Frame => {
  const bars = frames.filter(({ rows }) => rows.some((row) => row.some(({ text }) => /[█░]/.test(text))))
  return bars[Math.floor(bars.length / 2)] ?? frames.at(-1)!
}

/** All that `npm run pictures` makes. */
export const scenes: readonly Scene[] = [
  { name: 'session', lines: [answer, image, video], rows: 28 },
  { name: 'text', lines: [answer], rows: 40, pick: last },
  { name: 'image', lines: [image], rows: 28, pick: last },
  { name: 'video', lines: [remix], rows: 10, pick: halfway },
  { name: 'models', lines: [['models', 'gpt-image-2']], rows: 40, pick: last },
  {
    name: 'errors',
    lines: [
      ['respond', 'hello'],
      ['image', 'create', '--sandbox', '-m', 'gpt-image-2', '-n', '11', '--size', '9x9', 'A boat'],
    ],
    rows: 24,
    pick: last,
  },
]

/** The files of a scene by their names, as the current program looks. */
export async function picturesOf({ name, lines, rows, pick }: Scene): Promise<Map<string, string>> {
  const cwd = mkdtempSync(join(tmpdir(), 'modelgate-pictures-'))
  try {
    const recording = await recordSession(lines, { columns: 80, rows, cwd })
    const draw = (theme: Theme) =>
      pick === undefined ? animation(recording, theme) : still(pick(recording), recording.columns, theme)
    return new Map((['dark', 'light'] as const).map((theme) => [`${name}-${theme}.svg`, draw(theme)]))
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
