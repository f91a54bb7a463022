import type { Command, HelpConfiguration, Help, Option } from 'commander'
import { wantsColour, type Context } from '../../../context.ts'
import { widest, wrap } from '../../../output/line-breaks.ts'
import { groupCommands } from './command-groups.ts'
import { programOf } from '../options/common-options.ts'

/** A term and its meaning: one line of help, or several on a narrow terminal. */
export type HelpRow = readonly [term: string, about: string]

/** Below this width, the meaning is printed under its term. */
const minAboutWidth = 30
const indent = '  '

/** How many examples are shown without `--all`. */
const shownExamples = 3

/**
 * The layout of every `--help`: usage, what it does, examples, arguments, commands, then the options in their groups. Of
 * the program's options it has the most usual ones; `--all` brings the rest, after the command's own within each group.
 * Fits any width down to its longest word. Commander takes the colours out where there are none.
 */
export const helpLayout: HelpConfiguration = {
  showGlobalOptions: true,
  // Allowed values are listed in the description where that helps.
  optionDescription: ({ description }) => description,
  // By itself, commander lists its own `help` among the commands of a group.
  visibleCommands: (command) => [...command.commands],
  formatHelp(command: Command, help: Help): string {
    refuseUnknownCommand(command)
    const width = Math.min(help.helpWidth ?? 80, widest)
    // A command may have an option of that name.
    const showsAll = command.args.includes(allFlag) || command.getOptionValue('all') === true
    const rows = <Item>(
      items: readonly Item[],
      term: (item: Item) => string,
      about: (item: Item) => string,
    ) => items.map((item): HelpRow => [term.call(help, item), about.call(help, item)])
    const isGroup = command.parent !== null && command.commands.length > 0 && command.options.length === 0
    const { shown, hidden } = isGroup ? noOptions : optionsOf(command, help, showsAll)
    const blocks: [heading: string, rows: HelpRow[]][] = [
      ['Arguments:', rows(help.visibleArguments(command), help.argumentTerm, help.argumentDescription)],
      ...commandBlocks(command, help),
      ...[...groups(command, shown)].map(([heading, options]): [string, HelpRow[]] => [
        heading,
        rows(options, help.optionTerm, help.optionDescription),
      ]),
    ]
    const termWidth = Math.max(0, ...blocks.flatMap(([, all]) => all.map(([term]) => term.length)))
    const path = pathOf(command)
    const examples = examplesOf(command)
    return [
      usageLine(help.commandUsage(command), width),
      wrap(help.commandDescription(command), width),
      ...(examples.length === 0
        ? []
        : [formatExamples(showsAll ? examples : examples.slice(0, shownExamples), width).trimEnd()]),
      ...blocks
        .filter(([, all]) => all.length > 0)
        .map(([heading, all]) => `${headingLine(heading, width)}\n${formatRows(all, width, termWidth)}`),
      ...(isGroup ? [wrap(`Options of each: ${path} COMMAND --help`, width, indent)] : []),
      ...(hidden ? [wrap(`Options of every command: ${path} --help ${allFlag}`, width, indent)] : []),
    ]
      .join('\n\n')
      .concat('\n')
  },
}

/** The same for a command that sends nothing, without the common options that do not apply to it. */
export const ownOptionsLayout: HelpConfiguration = { ...helpLayout, showGlobalOptions: false }

/** Beside `--help`: all examples, and all options. */
export const allFlag = '--all'

/** @throws CommanderError where the parser would help with the program instead: `vidoe --help` */
function refuseUnknownCommand(command: Command): void {
  const [word] = command.args
  const takesWords = command.registeredArguments.length > 0 || command.commands.length === 0
  if (takesWords || word === undefined || word.startsWith('-')) return
  if (word === 'help' || command.commands.some((child) => child.name() === word)) return
  command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' })
}

const noOptions = { shown: [], hidden: false } as const

/** The options that a help shows, and whether others are hidden. */
function optionsOf(command: Command, help: Help, showsAll: boolean) {
  const own = help.visibleOptions(command)
  // The version is that of the program.
  const common = help.visibleGlobalOptions(command).filter(({ long }) => long !== '--version')
  const isUsual = (option: Option) => headingOf(option) === usualHeading || !isCommon(command, option)
  // Where only some of the common options apply, those are few.
  const all = showsAll || help.showGlobalOptions === false
  const shown = [...common, ...own].filter((option) => all || isUsual(option))
  return { shown, hidden: shown.length < common.length + own.length }
}

function isCommon(command: Command, option: Option): boolean {
  return programOf(command).options.includes(option)
}

/** The words that call a command. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** By name alone: the arguments of a command are not known before it is loaded. */
function commandBlocks(command: Command, help: Help): [heading: string, rows: HelpRow[]][] {
  const commands = help.visibleCommands(command)
  const rows = (some: readonly Command[]) => some.map((child): HelpRow => [child.name(), child.description()])
  if (command.parent !== null) return [['Commands:', rows(commands)]]
  return groupCommands(commands).map((group) => [`${group.heading}:`, rows(group.commands)])
}

/** The options grouped by heading; those without one come first, including the program's. */
function groups(command: Command, shown: readonly Option[]): Map<string, Option[]> {
  const [last, all] = [shown.filter(isLast), shown.filter((option) => !isLast(option))]
  const own = command.options.flatMap(({ helpGroupHeading }) => helpGroupHeading ?? [])
  const headings = [usualHeading, ...own, ...all.map(headingOf)]
  return new Map(
    headings.map((heading) => [heading, [...all, ...last].filter((option) => headingOf(option) === heading)]),
  )
}

const isLast = ({ long }: Option) => long === '--version' || long === '--help'

const usualHeading = 'Options:'
const headingOf = ({ helpGroupHeading }: Option) => helpGroupHeading ?? usualHeading

const paint = (open: number, close: number) => (text: string) =>
  text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`
const bold = paint(1, 22)
const dim = paint(2, 22)
const cyan = paint(36, 39)

/** The colours of a help are taken out where there are none. */
export function writeHelp({ stdout, env }: Pick<Context, 'stdout' | 'env'>, text: string): void {
  stdout.write(hasHelpColours({ stdout, env }) ? text : withoutColours(text))
}

/** Whether standard output is a terminal that shows colours: scripts read it, whatever is set. */
export function hasHelpColours({ stdout, env }: Pick<Context, 'stdout' | 'env'>): boolean {
  return stdout.isTerminal && wantsColour({ env }, stdout)
}

// oxlint-disable-next-line no-control-regex -- the colours are control sequences
const withoutColours = (text: string) => text.replaceAll(/\u001b\[\d+m/g, '')

/** A heading over rows or paragraphs. */
export function headingLine(heading: string, columns: number): string {
  return wrap(heading, columns, indent).split('\n').map(bold).join('\n')
}

function usageLine(usage: string, columns: number): string {
  return wrap(`Usage: ${usage}`, columns, indent).replace('Usage:', bold)
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
  return rows
    .map(([term, about]) => {
      if (!isNarrow) {
        const line = `${indent}${term.padEnd(termWidth)}${indent}${about}`
        return wrap(line, width, ' '.repeat(aboutAt)).replace(term, paintTerm)
      }
      const below = indent.repeat(3)
      return `${wrap(indent + term, width, below).replace(term, paintTerm)}\n${wrap(below + about, width, below)}`
    })
    .join('\n')
}

/** What is typed as it stands; what follows it is a placeholder. */
function paintTerm(term: string): string {
  const [, fixed = '', rest = ''] = /^([^]*?)( [<[][^]*)?$/.exec(term) ?? []
  return cyan(fixed) + rest
}

/** A command line to paste, with an explanation if it is not obvious. */
export type Example = readonly [line: string, about?: string]

const examplesByCommand = new WeakMap<Command, readonly Example[]>()

/** Puts examples into a command's help, the most useful ones first: without `--all` it shows three. */
export function addExamples(command: Command, examples: readonly Example[]): void {
  examplesByCommand.set(command, examples)
}

/** The examples in the help of a command. */
export function examplesOf(command: Command): readonly Example[] {
  return examplesByCommand.get(command) ?? []
}

/** Examples that can be pasted at any width: long lines continue after a backslash. */
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
    // Room for the backslash, except at the very end.
    const room = index === parts.length - 1 ? columns : columns - 2
    if (joined.length <= room || index < 2) lines[lines.length - 1] = joined
    else lines.push(`      ${part}`)
  }
  return prompted(lines.join(' \\\n'))
}
