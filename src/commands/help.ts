import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { nearestName } from '../contract/nearest-name.ts'
import { environmentTopic } from './help/environment.ts'
import { exitCodesTopic } from './help/exit-codes.ts'
import type { LoadCommand } from './shared/load-command.ts'
import { suggestWords } from './shared/suggested-words.ts'

/** Help that belongs to no command. */
const topics: Readonly<Record<string, (columns: number) => string>> = {
  'exit-codes': exitCodesTopic,
  environment: environmentTopic,
}

/** `modelgate help [command|topic]`. */
export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  const names = [...command.parent!.commands.map((other) => other.name()), ...Object.keys(topics)]
  const topic = command.createArgument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
  command.addArgument(suggestWords(topic, names)).action(async (name?: string) => {
    const program = command.parent!
    if (name === undefined) return program.outputHelp()
    const tell = Object.hasOwn(topics, name) ? topics[name] : undefined
    if (tell !== undefined) return context.stdout.write(tell(context.stdout.columns))
    const found = program.commands.find((candidate) => candidate.name() === name)
    if (found === undefined) throw unknownTopic(name, names)
    if (found !== command) await load(found)
    found.outputHelp()
  })
}

function unknownTopic(name: string, names: readonly string[]): UsageError {
  const near = nearestName(name, names)
  return new UsageError(
    `There is no help on ${JSON.stringify(name)}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'unknown_topic',
      hint: `There is help on ${names.join(', ')}.`,
    },
  )
}
