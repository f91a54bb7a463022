import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { inCi, type Context } from '../../context.ts'
import type { RunFile } from '../../events/run-document.ts'
import { detectProtocol } from '../preview/detect-protocol.ts'
import type { Screen } from '../screen.ts'

/** Larger files are not looked at while a run is under way. */
const maxBytes = 20_000_000

/** Shows results while a run goes on. */
export interface ResultPictures {
  /** Shows a picture above the board, unless an earlier one is still being drawn: then the newest matters more. */
  show(files: readonly RunFile[]): void
  /** Ends when the last picture has been written. Never throws. */
  settle(): Promise<void>
}

/**
 * The newest results as pictures above the board; undefined where the terminal shows none. Half blocks, which every
 * terminal can show, would push the lines of a run off the screen.
 */
export function createResultPictures(context: Context, screen: Screen): ResultPictures | undefined {
  const { env, cwd } = context
  if (!screen.isLive || inCi(env) || detectProtocol(env) === 'blocks') return undefined
  let drawing: Promise<void> | undefined
  const draw = async (path: string) => {
    const { createDrawing } = await import('../preview/drawing.ts')
    // A picture that cannot be shown is told by its path alone.
    const drawn = await createDrawing(context, 'auto', () => {}).draw(await readFile(resolve(cwd, path)))
    if (drawn !== undefined) screen.command(drawn.replace(/\n$/, ''))
  }
  return {
    show(files) {
      const picture = files.find(
        ({ mime_type: type, bytes }) => type.startsWith('image/') && bytes <= maxBytes,
      )
      if (picture === undefined || drawing !== undefined) return
      drawing = draw(picture.path)
        .catch(() => {})
        .finally(() => (drawing = undefined))
    },
    settle: async () => await drawing,
  }
}
