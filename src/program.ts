import { Command, CommanderError } from 'commander'
import type { Context } from './context.ts'
import {
  addShared,
  takeOptionsBefore,
  addExamples,
  nameOf,
} from './commands/shared/options/common-options.ts'
import { helpLayout } from './commands/shared/help/command-help.ts'
import { hasHelpColours, writeHelp } from './output/help-page.ts'
import { aboutCommand, commandModules, groupExamples } from './command-entries.ts'

/** @throws UsageError for what the parser refuses; whatever the command throws */
export async function runProgram(argv: readonly string[], context: Context): Promise<void> {
  const program = createProgram(context)
  context.commandLine = argv
  try {
    await loadNamed(program, context, argv)
    await program.parseAsync(markDashedText(separateContinue(argv)), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return
    const { calledCommand, misplaced, parserError } = await import('./commands/shared/help/parser-error.ts')
    if (error.code !== 'commander.help') throw misplaced(program, argv) ?? parserError(error, program, argv)
    const group = calledCommand(program, argv)
    if (group !== program) return group.outputHelp()
    const { overview } = await import('./commands/help/overview.ts')
    writeHelp(context, overview(program, context.stdout.columns))
  }
}

export function createProgram(context: Context): Command {
  const program = new Command('modelgate')
  program
    .description('One program for a gateway to hosted generative models.')
    .version(__VERSION__, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp(helpLayout)
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      // Errors are thrown, and reported only in main.
      writeErr: () => {},
      getOutHelpWidth: () => context.stdout.columns,
      getOutHasColors: () => hasHelpColours(context),
    })
    .helpOption('-h, --help', 'show help; with --all, every option')
    .helpCommand(false)
    .showSuggestionAfterError()
    .enablePositionalOptions()
  addExamples(program, [
    ['modelgate respond --sandbox "hello"', 'try it, nothing configured'],
    ['modelgate respond -m MODEL "Hello"', 'words as they arrive'],
    ['git diff | modelgate respond "Review this"', 'piped text, then the prompt'],
    ['modelgate respond --json "Hi" | jq .usage', 'one JSON document'],
    ['modelgate image create -o boat.png "A boat"', 'an image, into a file'],
    ['modelgate video generate -o boat.mp4 "A boat"', 'a video, when it is done'],
  ])
  // They may stand before the name of a command that has them.
  addShared(program, 'profile json quiet debug')
  addCommands(program)
  program.hook('preAction', (_, command) => {
    takeOptionsBefore(command)
    unmarkDashedText(command)
  })
  return program
}

function addCommands(program: Command): void {
  for (const [words, about] of Object.entries(aboutCommand)) {
    const parent = program.commands.find((group) => words.startsWith(`${group.name()} `)) ?? program
    const command = parent.command(words.split(' ').at(-1)!).description(about)
    addExamples(command, groupExamples[words] ?? [])
  }
}

/** Loads the command of a call before it is parsed; after an option, a name may also be its value. */
async function loadNamed(program: Command, context: Context, words: readonly string[]): Promise<void> {
  for (const [at, word] of words.entries()) {
    const command = program.commands.find((one) => one.name() === word)
    if (command === undefined) continue
    await loadCommand(command, context, words)
    if (!words[at - 1]?.startsWith('-')) return
  }
}

/** Loads a command and those below it. @param words only what is among them is loaded below it; by default all */
export async function loadCommand(command: Command, context: Context, words?: readonly string[]) {
  const below = command.commands.filter((child) => words?.includes(child.name()) ?? true)
  for (const one of [command, ...below]) {
    if (loaded.has(one)) continue
    loaded.add(one)
    const register = await commandModules[nameOf(one)]?.((other) => loadCommand(other, context))
    register?.(one, context)
  }
}

const loaded = new WeakSet<Command>()

/** Stands before dashed text while words are parsed: no argument of a program contains it. */
const textMark = '\0'

/**
 * A dash and neither a letter nor another dash (`-5 + 3 = ?`, `- milk`) begins no option, but the parser takes it for one.
 * What follows `--` is no command: `run -- report` is a job.
 */
function markDashedText(words: readonly string[]): string[] {
  const end = words.indexOf('--')
  return words.map((word, at) =>
    /^-[^A-Za-z-]/.test(word) || (end > 0 && at > end) ? textMark + word : word,
  )
}

/** The words for the parser, which would take what follows `-c` for its value: a word that is no id of a call is a prompt. */
export function separateContinue(words: readonly string[]): string[] {
  const isText = /^(?:generate|respond|chat)$/.test(commandNamed(words) ?? '')
  const end = words.indexOf('--')
  return words.map((word, at) => {
    const isOption = (word === '-c' || word === '--continue') && (end === -1 || at < end)
    return isText && isOption && !callId.test(words[at + 1] ?? '') ? '--continue=' : word
  })
}

const callId = /^[0-9a-f]{8,16}$/

/** Off the arguments, as they came and as they were processed, and off the values of the options. */
function unmarkDashedText(command: Command): void {
  const unmark = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unmark)
    return typeof value === 'string' && value.startsWith(textMark) ? value.slice(textMark.length) : value
  }
  command.args = command.args.map((word) => unmark(word) as string)
  command.processedArgs = command.processedArgs.map(unmark)
  for (const [name, value] of Object.entries(command.opts())) {
    command.setOptionValueWithSource(name, unmark(value), command.getOptionValueSource(name))
  }
}

/** The command that words of a call name: `image create`; undefined where they name none. */
export function commandNamed(words: readonly string[]): string | undefined {
  let name = ''
  for (const word of words) {
    const longer = `${name} ${word}`.trim()
    if (Object.hasOwn(aboutCommand, longer)) name = longer
  }
  return name || undefined
}
