import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import { hideCommon } from './common-meaning.ts'

/** Common options that change nothing for the worse where no request is sent: less or more to read, no questions. */
const harmless: ReadonlySet<string> = new Set(['quiet', 'debug', 'input', 'stdin'])

/**
 * The common options are declared on the program, so the parser takes them for every command. One that sends no
 * request cannot obey most of them.
 * @param command the command that was called
 * @param refused the names of the options that it cannot obey, as commander keeps them; all but the harmless ones
 *   where it sends no request
 * @throws UsageError that names each option that was given in vain
 */
export function refuseCommonOptions(command: Command, refused?: ReadonlySet<string>): void {
  const program = programOf(command)
  const inVain = program.options.filter((option) => {
    const name = option.attributeName()
    const isRefused = refused === undefined ? !harmless.has(name) : refused.has(name)
    return isRefused && program.getOptionValueSource(name) === 'cli'
  })
  if (inVain.length === 0) return
  const name = wordsOf(command)
  const reason = refused === undefined ? ', which sends no request' : ''
  const problems = inVain.map(({ long }) => `${long} means nothing to ${name}${reason}.`)
  throw new UsageError(problems, { code: 'unknown_option', hint: `See modelgate ${name} --help.` })
}

/** Has a command refuse some of the common options, which its help does not offer. */
export function refuseSome(command: Command, refused: ReadonlySet<string>): void {
  hideCommon(command, refused)
  command.hook('preAction', () => refuseCommonOptions(command, refused))
}

function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent)
}

/** The words that call a command, without the program's own. */
function wordsOf(command: Command): string {
  const { parent } = command
  return parent === null || parent.parent === null ? command.name() : `${wordsOf(parent)} ${command.name()}`
}
