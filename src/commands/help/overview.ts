import type { Command } from 'commander'
import { groupCommands } from '../shared/help/command-help.ts'
import { wrap } from '../../output/line-breaks.ts'
import { formatRows, headingLine } from '../../output/help-page.ts'

const steps = [
  ['modelgate respond --sandbox "hello"', 'try it: no gateway, no key, no cost'],
  ['modelgate init', 'then your gateway, key and models'],
  ['modelgate respond "hello"', 'words as they arrive'],
] as const

export function overview(program: Command, columns: number): string {
  const all = groupCommands(program)
  const making = all.filter(({ heading }) => heading.startsWith('Make'))
  const rows = making.flatMap(({ commands }) =>
    commands.map((command) => [command.name(), command.description()] as const),
  )
  // One line each would be more than a screen.
  const others = all
    .filter((group) => !making.includes(group))
    .map(({ heading, commands }) => [heading, commands.map((command) => command.name()).join(', ')] as const)
  return `${wrap(program.description(), columns)}

${headingLine('First steps:', columns)}
${formatRows(steps, columns)}

${headingLine('Make text, images and videos:', columns)}
${formatRows(rows, columns)}

${headingLine('And:', columns)}
${formatRows(others, columns)}

${wrap('Each with its flags: modelgate COMMAND --help. All: modelgate --help', columns)}
${wrap(`Topics: modelgate help exit-codes, environment, formatting, money, sandbox, pipelines`, columns)}
`
}
