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
  const blocks = [...page.matchAll(/^```([\w-]*)\n([^]*?)^```$/gm)]
  return blocks.map(({ 1: language = '', 2: text = '', index }) => {
    return { language, text, line: page.slice(0, index).split('\n').length + 1 }
  })
}

/** The page without its blocks of code. */
export function proseOf(page: string): string {
  return page.replaceAll(/^```[\w-]*\n[^]*?^```$/gm, '')
}

/** The notes on the wire name flags of no program. */
export const commandPages = userPages.filter((page) => !page.endsWith('/wire-notes.md'))

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'console'])
const workflows = ['examples/workflow.yaml', 'examples/pipelines/workflow.yaml']

/** The lines of all pages, and of the workflows among the examples, that call the program in a shell. */
export function shellBlocks() {
  return commandPages
    .flatMap((page) => codeBlocks(readPage(page)).map((block) => ({ page, ...block })))
    .concat(workflows.map((page) => ({ page, language: 'yaml', text: readPage(page), line: 1 })))
    .filter(hasCommands)
    .map((block) => ({ page: block.page, line: block.line, script: scriptOf(block) }))
}

function hasCommands({ language, text }: CodeBlock): boolean {
  if (language === 'yaml') return /\brun: .*\bmodelgate /.test(text)
  return shells.has(language) || (language === '' && /^modelgate /m.test(text))
}

/** Without prompts and what a session printed; of a workflow the steps that run it. */
function scriptOf({ language, text }: CodeBlock): string {
  if (language === 'yaml') return [...text.matchAll(/\brun: (.*)$/gm)].map(([, line]) => line).join('\n')
  if (language !== 'console') return text
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []))
    .join('\n')
}
