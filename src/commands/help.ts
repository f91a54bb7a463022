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

/** `modelgate help [command|topic]`, and of a command with commands of its own: `modelgate help video wait`. */
export function registerHelp(command: Command, context: Context, load: LoadCommand): void {
  const names = [...namesOf(command.parent!), ...Object.keys(topics)]
  const topic = command.createArgument('[topic]', `a command, or ${Object.keys(topics).join(', ')}`)
  command.addArgument(suggestWords(topic, names))
  command.argument('[command]', 'a command of that command')
  command.action(async (name?: string, ownName?: string) => {
    const program = command.parent!
    if (name === undefined) return program.outputHelp()
    const tell = Object.hasOwn(topics, name) ? topics[name] : undefined
    if (tell !== undefined && ownName === undefined) return context.stdout.write(tell(context.stdout.columns))
    const found = program.commands.find((candidate) => candidate.name() === name)
    if (found === undefined) throw unknownTopic(name, ownName, ownName === undefined ? names : [])
    if (found !== command) await load(found)
    if (ownName === undefined) return found.outputHelp()
    const own = found.commands.find((candidate) => candidate.name() === ownName)
    if (own === undefined) throw unknownTopic(name, ownName, namesOf(found))
    own.outputHelp()
  })
}

function namesOf({ commands }: Command): string[] {
  return commands.map((command) => command.name())
}

/** @param names what could have been asked for in place of the last word */
function unknownTopic(name: string, ownName: string | undefined, names: readonly string[]): UsageError {
  const near = nearestName(ownName ?? name, names)
  const topic = ownName === undefined ? name : `${name} ${ownName}`
  const given = ownName === undefined ? '' : `${name} `
  return new UsageError(
    `There is no help on ${JSON.stringify(topic)}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'unknown_topic',
      hint:
        names.length === 0
          ? 'See modelgate help.'
          : `There is help on ${names.map((other) => `${given}${other}`).join(', ')}.`,
    },
  )
}
