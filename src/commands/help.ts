import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { nearestName } from '../config/nearest-name.ts'
import type { LoadCommand } from '../program.ts'
import { environmentTopic } from './help/environment.ts'
import { exitCodesTopic } from './help/exit-codes.ts'

/** Help that belongs to no command. */
const topics: Readonly<Record<string, () => string>> = {
  'exit-codes': exitCodesTopic,
  environment: environmentTopic,
}

/** `modelgate help [command|topic]`. */
export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  command
    .argument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
    .action(async (name?: string) => {
      const program = command.parent!
      if (name === undefined) return context.stdout.write(program.helpInformation())
      const topic = Object.hasOwn(topics, name) ? topics[name] : undefined
      if (topic !== undefined) return context.stdout.write(topic())
      const found = program.commands.find((candidate) => candidate.name() === name)
      if (found === undefined) throw unknownTopic(name, program)
      if (found !== command) await load(found)
      found.outputHelp()
    })
}

function unknownTopic(name: string, program: Command): UsageError {
  const names = [...program.commands.map((command) => command.name()), ...Object.keys(topics)]
  const near = nearestName(name, names)
  return new UsageError(
    `There is no help on ${JSON.stringify(name)}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'unknown_topic',
      hint: `There is help on ${names.join(', ')}.`,
    },
  )
}
