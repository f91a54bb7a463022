import type { Command, HelpConfiguration, Help, Option } from 'commander'
import { formatPage, type HelpPage, type HelpRow } from '../../../output/help-page.ts'
import { isHarmless, isShared, examplesOf, shownFirst } from '../options/common-options.ts'

/** Every `--help`. Commander takes the colours out where there are none. */
export const helpLayout: HelpConfiguration = {
  // Allowed values are listed in the description where that helps.
  optionDescription: ({ description }) => description,
  // By itself, commander lists its own `help` among the commands of a group.
  visibleCommands: (command) => [...command.commands],
  formatHelp(command: Command, help: Help): string {
    refuseUnknownCommand(command)
    return formatPage(commandPage(command, help), help.helpWidth ?? 80)
  },
}

/** Beside `--help`: all examples, and all options. */
export const allFlag = '--all'

/** `--all` adds the less usual of the program's options, after the command's own within each group. */
export function commandPage(command: Command, help: Help): HelpPage {
  // A command may have an option of that name.
  const showsAll = command.args.includes(allFlag) || command.getOptionValue('all') === true
  const rows = <Item>(items: readonly Item[], term: (item: Item) => string, about: (item: Item) => string) =>
    items.map((item): HelpRow => [term.call(help, item), about.call(help, item)])
  const isGroup = command.parent !== null && command.commands.length > 0 && command.options.length === 0
  const { shown, hidden } = isGroup ? { shown: [], hidden: false } : optionsOf(command, help, showsAll)
  const blocks: [heading: string, rows: HelpRow[]][] = [
    ['Arguments:', rows(help.visibleArguments(command), help.argumentTerm, help.argumentDescription)],
    ...commandBlocks(command, help),
    ...[...groups(command, shown)].map(([heading, options]): [string, HelpRow[]] => [
      heading,
      rows(options, help.optionTerm, help.optionDescription),
    ]),
  ]
  const examples = examplesOf(command)
  const path = pathOf(command)
  return {
    usage: help.commandUsage(command),
    about: help.commandDescription(command),
    examples: showsAll ? examples : examples.slice(0, 3),
    blocks: blocks.filter(([, all]) => all.length > 0),
    more: [
      ...(isGroup ? [`Options of each: ${path} COMMAND --help`] : []),
      ...(hidden ? [`All options: ${path} --help ${allFlag}`] : []),
    ],
  }
}

/** @throws CommanderError where the parser would help with the program instead: `vidoe --help` */
function refuseUnknownCommand(command: Command): void {
  const [word] = command.args
  const takesWords = command.registeredArguments.length > 0 || command.commands.length === 0
  if (takesWords || word === undefined || word.startsWith('-')) return
  if (word === 'help' || command.commands.some((child) => child.name() === word)) return
  command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' })
}

/** With fewer of the shared options than that, all are shown, but for those that are harmless everywhere. */
const few = 16

function optionsOf(command: Command, help: Help, showsAll: boolean) {
  const [common, own] = split(help.visibleOptions(command), isShared)
  const first = shownFirst(command)
  const placeOf = ({ long }: Option) => first?.indexOf(long?.slice(2) ?? '') ?? 0
  const isUsual = (option: Option) => {
    if (!isShared(option)) return isFew || isLast(option) || placeOf(option) !== -1
    return headingOf(option) === usualHeading || (isFew && !isHarmless(option))
  }
  const isFew = common.length < few
  const [later, sooner] = split(own, (option) => placeOf(option) === -1)
  const ordered = [...common, ...sooner.toSorted((one, other) => placeOf(one) - placeOf(other)), ...later]
  const shown = ordered.filter((option) => showsAll || isUsual(option))
  return { shown, hidden: shown.length < ordered.length }
}

function split<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** By name alone: the arguments of a command are not known before it is loaded. */
function commandBlocks(command: Command, help: Help): [heading: string, rows: HelpRow[]][] {
  const rows = (some: readonly Command[]) => some.map((child): HelpRow => [child.name(), child.description()])
  if (command.parent !== null) return [['Commands:', rows(help.visibleCommands(command))]]
  return groupCommands(command).map((group) => [`${group.heading}:`, rows(group.commands)])
}

/** Those without a heading come first, including the program's. */
function groups(command: Command, shown: readonly Option[]): Map<string, Option[]> {
  const [last, all] = [shown.filter(isLast), shown.filter((option) => !isLast(option))]
  const own = command.options.flatMap((option) => (isShared(option) ? [] : headingOf(option)))
  const headings = [usualHeading, ...own, ...all.map(headingOf)]
  return new Map(
    headings.map((heading) => [heading, [...all, ...last].filter((option) => headingOf(option) === heading)]),
  )
}

const isLast = ({ long }: Option) => long === '--version' || long === '--help'

const usualHeading = 'Options:'
const headingOf = ({ helpGroupHeading }: Option) => helpGroupHeading ?? usualHeading

const commandGroups: Readonly<Record<string, readonly string[]>> = {
  'Make text': ['respond', 'generate', 'chat'],
  'Make images and videos': ['image', 'video', 'run'],
  'Look up': ['wait', 'jobs', 'cancel', 'models', 'log', 'usage', 'inspect'],
  'Set up': ['init', 'auth', 'config', 'doctor', 'sandbox'],
  Reference: ['help', 'schema', 'completion'],
}

/** The commands of the program by what they are for. */
export function groupCommands({ commands }: Command) {
  return Object.entries(commandGroups).map(([heading, names]) => ({
    heading,
    commands: names.flatMap((name) => commands.find((command) => command.name() === name) ?? []),
  }))
}
