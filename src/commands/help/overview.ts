import type { Command } from 'commander'
import { groupCommands } from '../shared/help/command-help.ts'
import { wrap } from '../../output/line-breaks.ts'
import { formatRows, headingLine, type HelpRow } from '../../output/help-page.ts'

const steps = [
  ['modelgate respond --sandbox "hello"', 'try it: no gateway, no key, no cost'],
  ['modelgate init', 'then your gateway, key and models'],
  ['modelgate respond "hello"', 'words as they arrive'],
] as const

export function overview(program: Command, columns: number): string {
  const { making = [], others = [] } = Object.groupBy(groupCommands(program), ({ heading }) =>
    heading.startsWith('Make') ? 'making' : 'others',
  )
  const makers = making.flatMap(({ commands }) =>
    commands.map((command): HelpRow => [command.name(), command.description()]),
  )
  // One line each would be more than a screen.
  const rest = others.map(({ heading, commands }): HelpRow => [
    heading,
    commands.map((command) => command.name()).join(', '),
  ])
  const block = (heading: string, rows: readonly HelpRow[]) =>
    `${headingLine(heading, columns)}\n${formatRows(rows, columns)}\n`
  return `${wrap(program.description(), columns)}

${block('First steps:', steps)}
${block('Make text, images and videos:', makers)}
${block('And:', rest)}
${wrap('Each with its flags: modelgate COMMAND --help. All: modelgate --help', columns)}
${wrap(`Topics: modelgate help exit-codes, environment, formatting, money, sandbox, pipelines`, columns)}
`
}
