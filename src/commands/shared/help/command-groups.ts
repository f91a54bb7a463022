import type { Command } from 'commander'

/** A part of the list of commands, in the order of the help. */
interface CommandGroup {
  readonly heading: string
  readonly names: readonly string[]
}

/** What people look for, and the commands for it. */
const table: readonly CommandGroup[] = [
  { heading: 'Make text', names: ['respond', 'generate', 'chat'] },
  { heading: 'Make images and videos', names: ['image', 'video', 'run'] },
  { heading: 'Look up', names: ['wait', 'jobs', 'cancel', 'models', 'log', 'usage', 'inspect'] },
  { heading: 'Set up', names: ['init', 'auth', 'config', 'doctor', 'sandbox'] },
  { heading: 'Reference', names: ['help', 'schema', 'completion'] },
]

/** The commands of the program by what they are for; those that the table does not name come last. */
export function groupCommands(
  commands: readonly Command[],
): readonly { readonly heading: string; readonly commands: readonly Command[] }[] {
  const named = table.map(({ heading, names }) => ({
    heading,
    commands: names.flatMap((name) => commands.find((command) => command.name() === name) ?? []),
  }))
  const others = commands.filter((command) => !table.some(({ names }) => names.includes(command.name())))
  return [...named, { heading: 'Other', commands: others }].filter((group) => group.commands.length > 0)
}
