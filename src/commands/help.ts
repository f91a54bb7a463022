import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { formatTopic, topics } from './help/topics.ts'
import {
  type CommonOptions,
  type LoadCommand,
  addShared,
  suggestWords,
  addExamples,
} from './shared/options/common-options.ts'
import { allFlag } from './shared/help/command-help.ts'
import { docsPlace } from '../files/program-files.ts'
import { writeHelp } from '../output/help-page.ts'
import { wrap } from '../output/line-breaks.ts'

export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  const program = command.parent!
  const names = [...new Set(namesIn(program))]
  const topic = command.createArgument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
  addExamples(command, [
    ['modelgate help video status', 'a command'],
    ['modelgate help money', 'a topic'],
    ['modelgate help --json image create', 'as data, limits of each model family included'],
  ])
  command.addArgument(suggestWords(topic, names))
  command.argument('[command]', 'a command of that command')
  command.addOption(new Option(allFlag, 'every example and every option'))
  addShared(command, 'json messages')
  type Flags = Pick<CommonOptions, 'json'> & { readonly all?: true }
  command.action(async (name: string | undefined, ownName: string | undefined, { json, all }: Flags) => {
    const topicOfName = name !== undefined && Object.hasOwn(topics, name) ? topics[name] : undefined
    if (topicOfName !== undefined && !json) {
      if (ownName !== undefined) throw unknownTopic([name!], ownName, [])
      const { columns } = context.stdout
      const pages = `The pages of the documentation: ${docsPlace()}`
      return writeHelp(context, `${formatTopic(topicOfName, columns)}\n${wrap(pages, columns)}\n`)
    }
    const found = await findCommand(
      program,
      [name, ownName].filter((word) => word !== undefined),
      load,
    )
    if (json) {
      for (const other of found === program ? program.commands : []) await load(other)
      const { helpDocument } = await import('./help/help-tree.ts')
      context.stdout.write(`${JSON.stringify(helpDocument(program, found), undefined, 2)}\n`)
      return await context.stdout.drain()
    }
    if (all) found.args = [allFlag]
    found.outputHelp()
  })
}

async function findCommand(program: Command, words: readonly string[], load: LoadCommand): Promise<Command> {
  let found = program
  for (const [at, word] of words.entries()) {
    const next = found.commands.find((candidate) => candidate.name() === word)
    if (next === undefined) throw unknownTopic(words.slice(0, at), word, namesIn(found))
    if (at === 0) await load(next)
    found = next
  }
  return found
}

/** What help can be asked for: the commands of a command, and of the program its topics, too. */
function namesIn({ commands, parent }: Command): string[] {
  const names = commands.map((command) => command.name())
  return parent === null ? [...Object.keys(topics), ...names] : names
}

function unknownTopic(before: readonly string[], word: string, names: readonly string[]): UsageError {
  const near = nearestName(word, names)
  const topic = JSON.stringify([...before, word].join(' '))
  const known = names.map((name) => [...before, name].join(' ')).join(', ')
  return new UsageError(
    `There is no help on ${topic}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      next: near === undefined ? undefined : ['modelgate', 'help', ...before, near],
      hint: known === '' ? 'See modelgate help.' : `There is help on ${known}.`,
    },
  )
}
