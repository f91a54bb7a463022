import { wantsColour, type Context } from '../../context.ts'
import { hasHyperlinks } from './hyperlinks.ts'
import { createMarkdownRenderer, type MarkdownRenderer } from './renderer.ts'

/** Where there is no terminal, and `COLUMNS` says nothing else. */
const usualColumns = 80

/**
 * A renderer for standard output, which follows the width of its terminal. In a pipe (`--render always`) it is as wide
 * as `COLUMNS` says, and has colours, unless they are switched off: who asks for it shows it with `less -R`.
 * @param columns the width of the terminal at present; 0 when it is unknown
 */
export function openRenderer(
  context: Context,
  columns: () => number,
  write: (text: string) => void,
): MarkdownRenderer {
  const { stdout, env } = context
  const { isTerminal } = stdout
  const width = isTerminal ? columns : () => Number(/^[1-9]\d{0,3}$/.exec(env.COLUMNS ?? '')) || usualColumns
  const renderer = createMarkdownRenderer({
    columns: width(),
    isTerminal,
    colors: wantsColour(context, { isTerminal: true }),
    hyperlinks: hasHyperlinks(context),
    write,
  })
  return {
    ...renderer,
    push(text) {
      renderer.resize(width())
      renderer.push(text)
    },
  }
}
