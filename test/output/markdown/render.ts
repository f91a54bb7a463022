import { createMarkdownRenderer, type MarkdownOptions } from '../../../src/output/markdown/renderer.ts'

export type RenderOptions = Partial<Omit<MarkdownOptions, 'write' | 'columns'>> & {
  readonly columns?: number
}

/** What is written for a text that comes in pieces. */
export async function rendered(
  pieces: readonly string[],
  { columns = 80, ...options }: RenderOptions = {},
): Promise<string> {
  let output = ''
  const renderer = createMarkdownRenderer({
    columns: () => columns,
    isTerminal: true,
    colors: true,
    hyperlinks: true,
    ...options,
    write: (text) => void (output += text),
  })
  for (const piece of pieces) {
    renderer.push(piece)
    await renderer.settle()
  }
  renderer.end()
  await renderer.settle()
  return output
}

/** A text cut at one place, for every place. */
export function everySplit(text: string): string[][] {
  return Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)])
}

/** Sequences that can be read: `<1;35>text<>` and `{url}text{}`. */
export const withNames = (output: string) =>
  output
    .replaceAll(/\u001b\[0m/g, '<>')
    .replaceAll(/\u001b\[([\d;]+)m/g, '<$1>')
    .replaceAll(/\u001b\]8;;([^\u001b]*)\u001b\\/g, '{$1}')

export const readable = async (text: string, options: RenderOptions = {}) =>
  withNames(await rendered([text], { columns: 0, ...options }))
