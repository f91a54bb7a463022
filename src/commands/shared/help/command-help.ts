import type { Command, HelpConfiguration, Help, Option } from 'commander'
import { formatPage, type HelpPage } from '../../../output/help-page.ts'
import { isHarmless, isShared, examplesOf, nameOf, shownFirst } from '../options/common-options.ts'

/** Every `--help`. Commander takes the colours out where there are none. */
export const helpLayout: HelpConfiguration = {
  formatHelp(command: Command, help: Help): string {
    refuseUnknownCommand(command)
    return formatPage(commandPage(command, help), help.helpWidth ?? 80)
  },
}

type Block = HelpPage['blocks'][number]

/** Beside `--help`: all examples, and all options. */
export const allFlag = '--all'

/** `--all` adds the less usual of the program's options, after the command's own within each group. */
export function commandPage(command: Command, help: Help): HelpPage {
  // A command may have an option of that name.
  const showsAll = command.args.includes(allFlag) || command.getOptionValue('all') === true
  const isGroup = command.parent !== null && command.commands.length > 0 && command.options.length === 0
  const options = isGroup ? undefined : optionsOf(command, help, showsAll)
  const args = help.visibleArguments(command)
  const blocks: Block[] = [
    ['Arguments:', args.map((one) => [help.argumentTerm(one), help.argumentDescription(one)])],
    ...commandBlocks(command),
    ...[...(options?.groups ?? [])].map(([heading, some]): Block => [
      heading,
      some.map((option) => [help.optionTerm(option), option.description]),
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
      ...(options?.areSome ? [`All options: ${path} --help ${allFlag}`] : []),
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

/** By their headings, in the order of the help; `areSome` where there are more. */
function optionsOf(command: Command, help: Help, showsAll: boolean) {
  const all = help.visibleOptions(command)
  const last = all.filter(({ long }) => long === '--version' || long === '--help')
  const common = all.filter(isShared)
  const own = all.filter((option) => !last.includes(option) && !isShared(option))
  const isFew = common.length < few
  const named = shownFirst(command)?.split(' ')
  const first = named?.flatMap((name) => own.find(({ long }) => long === `--${name}`) ?? []) ?? own
  const isUsual = (option: Option) =>
    isShared(option)
      ? headingOf(option) === usualHeading || (isFew && !isHarmless(option))
      : isFew || last.includes(option) || first.includes(option)
  const ordered = new Set([...common, ...first, ...own, ...last])
  const shown = [...ordered].filter((option) => showsAll || isUsual(option))
  return { groups: help.groupItems([...last, ...own], shown, headingOf), areSome: shown.length < all.length }
}

const usualHeading = 'Options:'
const headingOf = ({ helpGroupHeading }: Option) => helpGroupHeading ?? usualHeading

export function pathOf(command: Command): string {
  return ['modelgate', nameOf(command)].join(' ').trim()
}

/** By name alone: the arguments of a command are not known before it is loaded. */
function commandBlocks(command: Command): Block[] {
  const { parent, commands } = command
  const groups = parent === null ? groupCommands(command) : [{ heading: 'Commands', commands }]
  return groups.map((group) => [
    `${group.heading}:`,
    group.commands.map((child) => [child.name(), child.description()]),
  ])
}

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
