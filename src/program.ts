import { Command, CommanderError } from 'commander'
import type { Context } from './context.ts'
import { UsageError } from './errors.ts'
import { addCommonOptions, refuseCommonOptions } from './commands/shared/common-options.ts'
import { addExamples, type Example, helpLayout, ownOptionsLayout } from './commands/shared/help-layout.ts'
import type { LoadCommand } from './commands/shared/load-command.ts'

/** Gives a command its arguments, options and action. */
export type Register = (command: Command, context: Context) => void

/** A command as the tree knows it before it is loaded. */
export interface CommandEntry {
  readonly name: string
  readonly about: string
  /** Whether the options of every command, which are about requests and results, belong in its help. */
  readonly sends?: true
  load(): Promise<Register>
}

/** Every command, in the order of `--help`. Each is loaded, with all it needs, when it is called. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: 'generate',
    about: 'Stream text, content-generation style',
    sends: true,
    load: async () => (await import('./commands/generate.ts')).registerGenerate,
  },
  {
    name: 'respond',
    about: 'Stream text, response-object style',
    sends: true,
    load: async () => (await import('./commands/respond.ts')).registerRespond,
  },
  {
    name: 'image',
    about: 'Create and edit images, into files',
    sends: true,
    load: async () => (await import('./commands/image.ts')).registerImage,
  },
  {
    name: 'video',
    about: 'Make videos: start jobs, wait for them, save them',
    sends: true,
    load: async () => (await import('./commands/video.ts')).registerVideo,
  },
  {
    name: 'sandbox',
    about: 'Run the local gateway that obeys the same contract',
    load: async () => (await import('./commands/sandbox.ts')).registerSandbox,
  },
  {
    name: 'schema',
    about: 'Print the JSON Schema of what --json and --jsonl print',
    load: async () => (await import('./commands/schema.ts')).registerSchema,
  },
  {
    name: 'completion',
    about: 'Print a completion script for bash, zsh, fish or PowerShell',
    load: async () => withLoader((await import('./commands/completion.ts')).registerCompletion),
  },
  {
    name: 'help',
    about: 'Show help for a command or a topic: exit-codes, environment',
    load: async () => withLoader((await import('./commands/help.ts')).registerHelp),
  },
]

const examples: readonly Example[] = [
  ['modelgate generate --sandbox "hello"', 'try it, nothing configured'],
  ['modelgate generate -m MODEL "Hello"', 'words as they arrive'],
  ['git diff | modelgate respond "Review this"', 'piped text, then the prompt'],
  ['modelgate respond --json "Hi" | jq .usage', 'one JSON document'],
  ['modelgate image create -o boat.png "A boat"', 'an image, into a file'],
  ['modelgate video generate -o boat.mp4 "A boat"', 'a video, when it is done'],
]

/**
 * Parses the words of one call and runs the command they name.
 * @throws UsageError for what the parser refuses; whatever the command throws
 */
export async function runProgram(argv: readonly string[], context: Context): Promise<void> {
  const program = createProgram(context)
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return
    // A command that is nothing without one of its own was called without one.
    if (error.code === 'commander.help') return calledCommand(program, argv).outputHelp()
    throw new UsageError(plainMessage(error), {
      code: error.code.replace('commander.', '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      hint: `See ${pathOf(calledCommand(program, argv))} --help.`,
    })
  }
}

/** What the parser refused, in the words that the program has for its own refusals. */
function plainMessage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, '')
    .replace('\n', ' ')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/,
      (_, given: string, name: string, choices: string) =>
        `The ${name} must be one of ${choices}, not ${JSON.stringify(given)}.`,
    )
}

/** The command that was called, as far as its words are known: the program, a command, or one of its own. */
function calledCommand(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const word of argv) {
    command = command.commands.find((child) => child.name() === word) ?? command
  }
  return command
}

/** The words that call a command. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** The command tree. A command's module is loaded just before its own words are parsed. */
export function createProgram(context: Context): Command {
  const program = new Command('modelgate')
  program
    .description('One program for a gateway to hosted generative models.')
    .version(__VERSION__, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp(helpLayout)
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      // Errors are thrown and told in one place, main.
      writeErr: () => {},
      outputError: () => {},
      getOutHelpWidth: () => context.stdout.columns,
      getErrHelpWidth: () => context.stderr.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .helpCommand(false)
    .showSuggestionAfterError()
  addExamples(program, context, examples)
  addCommonOptions(program)
  for (const { name, about, sends } of commandEntries) {
    const command = program.command(name).description(about)
    if (sends) continue
    command.configureHelp(ownOptionsLayout).hook('preAction', () => refuseCommonOptions(command))
  }
  program.hook('preSubcommand', (_, command) => loadCommand(command, context))
  return program
}

/** Loads what a command of the tree consists of. */
export async function loadCommand(command: Command, context: Context): Promise<void> {
  const entry = commandEntries.find(({ name }) => name === command.name())
  if (entry !== undefined) (await entry.load())(command, context)
}

function withLoader(register: (command: Command, context: Context, load: LoadCommand) => void): Register {
  return (command, context) => register(command, context, (other) => loadCommand(other, context))
}
