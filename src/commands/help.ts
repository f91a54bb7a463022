import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { formatTopic, topics } from './help/topics.ts'
import type { LoadCommand } from './shared/options/command-tools.ts'
import { addShared, suggestWords } from './shared/options/common-options.ts'
import { addExamples, allFlag, type Example } from './shared/help/help-layout.ts'
import { docsPlace } from '../files/program-files.ts'
import { writeHelp } from '../output/help-page.ts'
import { wrap } from '../output/line-breaks.ts'

const examples: readonly Example[] = [
  ['modelgate help video wait', 'a command'],
  ['modelgate help money', 'a topic'],
  ['modelgate help --json image create', 'as data, limits of each model family included'],
]

/** `modelgate help [command|topic]`, also for subcommands: `modelgate help video wait`. */
export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  const names = [...new Set([...Object.keys(topics), ...namesOf(command.parent!)])]
  const topic = command.createArgument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
  addExamples(command, examples)
  command.addArgument(suggestWords(topic, names))
  command.argument('[command]', 'a command of that command')
  command.addOption(new Option(allFlag, 'every example and every option'))
  addShared(command, 'json messages')
  command.action(async (name?: string, ownName?: string) => {
    const { json, all } = command.optsWithGlobals<{ json?: true; all?: true }>()
    const topicOfName = name !== undefined && Object.hasOwn(topics, name) ? topics[name] : undefined
    if (topicOfName !== undefined && ownName === undefined && !json) {
      const { columns } = context.stdout
      const pages = `The pages of the documentation: ${docsPlace()}`
      return writeHelp(context, `${formatTopic(topicOfName, columns)}\n${wrap(pages, columns)}\n`)
    }
    const found = await findCommand(command, name, ownName, load)
    if (json) return printTree(context, command.parent!, found, load)
    if (all) found.args = [allFlag]
    found.outputHelp()
  })
}

/** @throws UsageError when there is no such command */
async function findCommand(
  command: Command,
  name: string | undefined,
  ownName: string | undefined,
  load: LoadCommand,
): Promise<Command> {
  const program = command.parent!
  if (name === undefined) return program
  const found = program.commands.find((candidate) => candidate.name() === name)
  if (found === undefined) {
    const names = [...Object.keys(topics), ...namesOf(program)]
    throw unknownTopic(name, ownName, ownName === undefined ? names : [])
  }
  if (found !== command) await load(found)
  if (ownName === undefined) return found
  const own = found.commands.find((candidate) => candidate.name() === ownName)
  if (own === undefined) throw unknownTopic(name, ownName, namesOf(found))
  return own
}

/** @throws what `Sink.drain` throws */
async function printTree(
  { stdout }: Context,
  program: Command,
  found: Command,
  load: LoadCommand,
): Promise<void> {
  const unloaded = found === program ? program.commands.filter((other) => other.name() !== 'help') : []
  for (const other of unloaded) await load(other)
  const { helpDocument } = await import('./help/help-tree.ts')
  stdout.write(`${JSON.stringify(helpDocument(program, found), undefined, 2)}\n`)
  await stdout.drain()
}

function namesOf({ commands }: Command): string[] {
  return commands.map((command) => command.name())
}

/** @param names what the last word could have been */
function unknownTopic(name: string, ownName: string | undefined, names: readonly string[]): UsageError {
  const near = nearestName(ownName ?? name, names)
  const topic = ownName === undefined ? name : `${name} ${ownName}`
  const given = ownName === undefined ? '' : `${name} `
  return new UsageError(
    `There is no help on ${JSON.stringify(topic)}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'unknown_topic',
      next: near === undefined ? undefined : ['modelgate', 'help', ...`${given}${near}`.split(' ')],
      hint:
        names.length === 0
          ? 'See modelgate help.'
          : `There is help on ${names.map((other) => `${given}${other}`).join(', ')}.`,
    },
  )
}
