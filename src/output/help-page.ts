import { stripVTControlCharacters } from 'node:util'
import { wantsColour, type Context } from '../context.ts'
import { widest, wrap } from './line-breaks.ts'

export type HelpRow = readonly [term: string, about: string]

const minAboutWidth = 30
const indent = '  '

export interface HelpPage {
  readonly usage: string
  readonly about: string
  readonly examples: readonly Example[]
  readonly blocks: readonly (readonly [heading: string, rows: readonly HelpRow[]])[]
  readonly more: readonly string[]
}

/** With colours. Fits any width down to its longest word. */
export function formatPage({ usage, about, examples, blocks, more }: HelpPage, columns: number): string {
  const width = Math.min(columns, widest)
  const termWidth = Math.max(0, ...blocks.flatMap(([, rows]) => rows.map(([term]) => term.length)))
  const parts = [
    wrap(`Usage: ${usage}`, width, indent).replace('Usage:', bold),
    wrap(about, width),
    ...(examples.length === 0 ? [] : [formatExamples(examples, width).trimEnd()]),
    ...blocks.map(([heading, rows]) => {
      return `${headingLine(heading, width)}\n${formatRows(rows, width, termWidth)}`
    }),
    ...more.map((sentence) => wrap(sentence, width, indent)),
  ]
  return `${parts.join('\n\n')}\n`
}

const paint = (text: string, open: number, close: number) =>
  text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`
const bold = (text: string) => paint(text, 1, 22)
const dim = (text: string) => paint(text, 2, 22)
const cyan = (text: string) => paint(text, 36, 39)

export function writeHelp({ stdout, env }: Pick<Context, 'stdout' | 'env'>, text: string): void {
  stdout.write(hasHelpColours({ stdout, env }) ? text : stripVTControlCharacters(text))
}

/** Scripts read what is no terminal, whatever is set. */
export function hasHelpColours({ stdout, env }: Pick<Context, 'stdout' | 'env'>): boolean {
  return stdout.isTerminal && wantsColour({ env }, stdout)
}

export function headingLine(heading: string, columns: number): string {
  return wrap(heading, columns, indent).split('\n').map(bold).join('\n')
}

/** Two columns; or, where the second would be too narrow, the meaning below its term. */
export function formatRows(
  rows: readonly HelpRow[],
  columns: number,
  termWidth = Math.max(...rows.map(([term]) => term.length)),
): string {
  const width = Math.min(columns, widest)
  const aboutAt = indent.length + termWidth + indent.length
  const isNarrow = width - aboutAt < minAboutWidth
  const below = ' '.repeat(isNarrow ? 3 * indent.length : aboutAt)
  const lines = rows.map(([term, about]) => {
    const head = isNarrow ? indent + term : `${indent}${term.padEnd(termWidth)}${indent}${about}`
    const first = wrap(head, width, below).replace(term, paintTerm)
    return isNarrow ? `${first}\n${wrap(below + about, width, below)}` : first
  })
  return lines.join('\n')
}

function paintTerm(term: string): string {
  const [, fixed = '', rest = ''] = /^([^]*?)( [<[][^]*)?$/.exec(term) ?? []
  return cyan(fixed) + rest
}

export type Example = readonly [line: string, about?: string]

/** They can be pasted at any width: long lines continue after a backslash. */
export function formatExamples(examples: readonly Example[], columns: number): string {
  const lines = examples.map(([line, about]) => [`  $ ${line}`, about] as const)
  const aboutAt = Math.max(...lines.map(([line, about]) => (about === undefined ? 0 : line.length))) + 2
  const fitsOneLine = lines.every(([, about = '']) => aboutAt + about.length <= columns)
  const blocks = lines.map(([line, about]) => {
    if (about === undefined) return continued(line, columns)
    if (fitsOneLine) return `${prompted(line.padEnd(aboutAt))}${dim(about)}`
    return `${dim(wrap(`  # ${about}`, columns, '  # '))}\n${continued(line, columns)}`
  })
  return [headingLine('Examples:', columns), ...blocks, ''].join('\n')
}

const prompted = (line: string) => line.replace('$', dim)

/** Breaks between words, never inside quotes, and between an option and its value only where both are too long. */
function continued(line: string, columns: number): string {
  const words = line.trimStart().match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? []
  const parts: string[] = []
  for (const word of words) {
    const last = parts.at(-1) ?? ''
    const isValue = /^--?\w[^ ]*$/.test(last) && !word.startsWith('-')
    if (isValue && last.length + word.length < columns - 10) parts[parts.length - 1] = `${last} ${word}`
    else parts.push(word)
  }
  const lines = ['  ']
  for (const [index, part] of parts.entries()) {
    const joined = `${lines.at(-1)}${index === 0 ? '' : ' '}${part}`
    const room = index === parts.length - 1 ? columns : columns - 2
    if (joined.length <= room || index < 2) lines[lines.length - 1] = joined
    else lines.push(`      ${part}`)
  }
  return prompted(lines.join(' \\\n'))
}
