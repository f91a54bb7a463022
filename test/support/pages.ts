import { readFileSync, readdirSync } from 'node:fs'

/** The repository's folder. */
export const projectRoot = new URL('../../', import.meta.url)

export function readPage(path: string): string {
  return readFileSync(new URL(path, projectRoot), 'utf8')
}

/** What users read: the README and every page of docs/, by path below the root. */
export const userPages: readonly string[] = [
  'README.md',
  ...readdirSync(new URL('docs/', projectRoot))
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => `docs/${name}`),
]

export interface CodeBlock {
  /** What stands behind the fence: `sh`, `yaml`; empty for none. */
  readonly language: string
  readonly text: string
  /** Line of the page on which the text begins, from 1. */
  readonly line: number
}

export function codeBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(/^```([\w-]*)\n([^]*?)^```$/gm)].map(
    ({ 1: language = '', 2: text = '', index }) => ({
      language,
      text,
      line: page.slice(0, index).split('\n').length + 1,
    }),
  )
}

/** The page without its blocks of code. */
export function proseOf(page: string): string {
  return page.replaceAll(/^```[\w-]*\n[^]*?^```$/gm, '')
}
