import type { Command, HelpConfiguration, Help, Option } from 'commander'
import type { Context } from '../../context.ts'

/** A term and its meaning: one line of help, or several on a narrow terminal. */
type HelpRow = readonly [term: string, about: string]

/** Longer lines are hard to read, however wide the terminal is. */
const widest = 100
/** Below this width, the meaning is printed under its term. */
const minAboutWidth = 30
const indent = '  '

/**
 * The layout of every `--help`: usage, arguments, commands, then the options in their groups, those of the
 * program after the command's own within each group. Fits any width down to its longest word.
 */
export const helpLayout: HelpConfiguration = {
  showGlobalOptions: true,
  // Allowed values are listed in the description where that helps.
  optionDescription: ({ description }) => description,
  formatHelp(command: Command, help: Help): string {
    const width = Math.min(help.helpWidth ?? 80, widest)
    const rows = <Item>(
      items: readonly Item[],
      term: (item: Item) => string,
      about: (item: Item) => string,
    ) => items.map((item): HelpRow => [term.call(help, item), about.call(help, item)])
    const blocks: [heading: string, rows: HelpRow[]][] = [
      ['Arguments:', rows(help.visibleArguments(command), help.argumentTerm, help.argumentDescription)],
      // By name alone: the arguments of a command are not known before it is loaded.
      ['Commands:', help.visibleCommands(command).map((child) => [child.name(), child.description()])],
      ...[...groups(command, help)].map(([heading, options]): [string, HelpRow[]] => [
        heading,
        rows(options, help.optionTerm, help.optionDescription),
      ]),
    ]
    const termWidth = Math.max(...blocks.flatMap(([, all]) => all.map(([term]) => term.length)))
    return [
      wrap(`Usage: ${help.commandUsage(command)}`, width, indent),
      wrap(help.commandDescription(command), width),
      ...blocks
        .filter(([, all]) => all.length > 0)
        .map(([heading, all]) => `${wrap(heading, width, indent)}\n${formatRows(all, width, termWidth)}`),
      ...(help.showGlobalOptions ? [] : [wrap('Options of every command: modelgate --help', width, indent)]),
    ]
      .join('\n\n')
      .concat('\n')
  },
}

/** The same for a command that sends nothing, without the common options that do not apply to it. */
export const ownOptionsLayout: HelpConfiguration = { ...helpLayout, showGlobalOptions: false }

/** The options grouped by heading; those without one come first, including the program's. */
function groups(command: Command, help: Help): Map<string, Option[]> {
  const visible = [...help.visibleGlobalOptions(command), ...help.visibleOptions(command)]
  const [last, all] = [visible.filter(isLast), visible.filter((option) => !isLast(option))]
  const own = command.options.flatMap(({ helpGroupHeading }) => helpGroupHeading ?? [])
  const headings = ['Options:', ...own, ...all.map(headingOf)]
  return new Map(
    headings.map((heading) => [heading, [...all, ...last].filter((option) => headingOf(option) === heading)]),
  )
}

const isLast = ({ long }: Option) => long === '--version' || long === '--help'

const headingOf = ({ helpGroupHeading }: Option) => helpGroupHeading ?? 'Options:'

/** Two columns; or, where the second would be too narrow, the meaning below its term. */
export function formatRows(
  rows: readonly HelpRow[],
  columns: number,
  termWidth = Math.max(...rows.map(([term]) => term.length)),
): string {
  const width = Math.min(columns, widest)
  const aboutAt = indent.length + termWidth + indent.length
  const isNarrow = width - aboutAt < minAboutWidth
  return rows
    .map(([term, about]) => {
      if (!isNarrow) {
        return wrap(`${indent}${term.padEnd(termWidth)}${indent}${about}`, width, ' '.repeat(aboutAt))
      }
      const below = indent.repeat(3)
      return `${wrap(indent + term, width, below)}\n${wrap(below + about, width, below)}`
    })
    .join('\n')
}

/** Breaks a line at spaces; the lines after the first start with `hanging`. A longer word stays whole. */
export function wrap(line: string, columns: number, hanging = ''): string {
  const width = Math.min(columns, widest)
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    // Never in the indentation: it is not a space between words.
    const start = rest.search(/\S/)
    const before = rest.lastIndexOf(' ', width)
    const at = before > start ? before : rest.indexOf(' ', start)
    if (at === -1) break
    lines.push(rest.slice(0, at).trimEnd())
    rest = hanging + rest.slice(at).trimStart()
  }
  return [...lines, rest].join('\n')
}

/** A command line to paste, with an explanation if it is not obvious. */
export type Example = readonly [line: string, about?: string]

/** Puts examples in front of a command's help. */
export function addExamples(command: Command, context: Context, examples: readonly Example[]): void {
  command.addHelpText('before', () => formatExamples(examples, context.stdout.columns))
}

/** Examples that can be pasted at any width: long lines continue after a backslash. */
export function formatExamples(examples: readonly Example[], columns: number): string {
  const lines = examples.map(([line, about]) => [`  $ ${line}`, about] as const)
  const aboutAt = Math.max(...lines.map(([line, about]) => (about === undefined ? 0 : line.length))) + 2
  const fitsOneLine = lines.every(([, about = '']) => aboutAt + about.length <= columns)
  const blocks = lines.map(([line, about]) => {
    if (about === undefined) return continued(line, columns)
    return fitsOneLine ? line.padEnd(aboutAt) + about : `  # ${about}\n${continued(line, columns)}`
  })
  return ['Examples:', ...blocks, ''].join('\n')
}

/** Breaks between words, never inside quotes. */
function continued(line: string, columns: number): string {
  const words = line.trimStart().match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? []
  const lines = ['  ']
  for (const [index, word] of words.entries()) {
    const joined = `${lines.at(-1)}${index === 0 ? '' : ' '}${word}`
    // Room for the backslash, except at the very end.
    const room = index === words.length - 1 ? columns : columns - 2
    if (joined.length <= room || index < 2) lines[lines.length - 1] = joined
    else lines.push(`      ${word}`)
  }
  return lines.join(' \\\n')
}
