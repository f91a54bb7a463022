import { inCi, type Context } from '../../context.ts'
import type { PreviewMode } from './detect-protocol.ts'
import type { Preview } from './drawing.ts'

export interface PreviewOptions {
  readonly mode: PreviewMode
  /** Takes the line that says why a picture is not shown; standard error unless given. */
  readonly notice?: (message: string) => void
}

/**
 * Pictures beside the paths: on standard error, and only when that is a terminal and no CI runner's. `auto` shows none
 * on a terminal without cursor control (`TERM=dumb`).
 */
export function createPreview(context: Context, options: PreviewOptions): Preview | undefined {
  const { mode, notice = (message) => context.stderr.write(`${message}\n`) } = options
  if (mode === 'off' || !context.stderr.isTerminal || inCi(context.env)) return undefined
  if (mode === 'auto' && context.env.TERM === 'dumb') return undefined
  let isReported = false
  const skip = (message: string) => {
    if (!isReported) notice(message)
    isReported = true
  }
  const drawing = lazily(async () => {
    const { createDrawing } = await import('./drawing.ts')
    return await createDrawing(context, mode, skip)
  })
  return {
    async show({ bytes, caption }) {
      try {
        const picture = await (await drawing()).draw(bytes)
        if (picture === undefined) return
        const { sanitise } = await import('../gate.ts')
        const line = caption === undefined ? '' : `${sanitise(caption.replaceAll(/\s+/g, ' '))}\n`
        context.stderr.write(picture + line)
        await context.stderr.drain()
      } catch (error) {
        skip(`no preview: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  }
}

function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => (made ??= make())
}
