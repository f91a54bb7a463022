import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'

/** Common options that change nothing for the worse where no request is sent: less or more to read, no questions. */
const harmless: ReadonlySet<string> = new Set(['quiet', 'debug', 'input', 'stdin'])

/**
 * The common options are declared on the program, so the parser takes them for every command. One that sends no
 * request cannot obey most of them.
 * @param command the command that was called
 * @param program its parent, with the common options
 * @throws UsageError that names each option that was given in vain
 */
export function refuseCommonOptions(program: Command, command: Command): void {
  const inVain = program.options.filter((option) => {
    const name = option.attributeName()
    return program.getOptionValueSource(name) === 'cli' && !harmless.has(name)
  })
  if (inVain.length === 0) return
  const problems = inVain.map(
    ({ long }) => `${long} means nothing to ${command.name()}, which sends no request.`,
  )
  throw new UsageError(problems, {
    code: 'unknown_option',
    hint: `See modelgate ${command.name()} --help.`,
  })
}
