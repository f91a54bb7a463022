import { inCi, type Context } from '../../context.ts'
import type { PreviewMode } from '../terminal-abilities.ts'

/** Not in a CI runner's log. `auto` also needs cursor control, which `TERM=dumb` lacks. */
export function createPreview(
  context: Context,
  mode: PreviewMode,
  notice = (message: string): void => void context.stderr.write(`${message}\n`),
) {
  if (mode === 'off' || !context.stderr.isTerminal || inCi(context.env)) return undefined
  if (mode === 'auto' && context.env.TERM === 'dumb') return undefined
  let isReported = false
  return {
    /** Never throws: a picture that cannot be shown is skipped, and the first one is reported. */
    async show({ bytes, caption }: { readonly bytes: Uint8Array; readonly caption?: string }): Promise<void> {
      try {
        const { drawPicture } = await import('./protocols.ts')
        const picture = await drawPicture(context, mode, bytes)
        if (picture === undefined) return
        const { sanitise } = await import('../gate.ts')
        const line = caption === undefined ? '' : `${sanitise(caption.replaceAll(/\s+/g, ' '))}\n`
        context.stderr.write(picture + line)
        await context.stderr.drain()
      } catch (error) {
        if (!isReported) notice(`no preview: ${(error as Error).message}`)
        isReported = true
      }
    },
  }
}
