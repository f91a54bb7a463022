import type { Argument, Command } from 'commander'
import { settingNames, settingTable } from '../../../config/setting-table.ts'
import { suggestWords } from './common-options.ts'

/** The argument of commands that are about one setting; those at the top of a file are completed. */
export function settingArgument(command: Command): Argument {
  const argument = command.createArgument('<name>', 'a setting, as in the file: base_url')
  return suggestWords(
    argument,
    settingNames.map((name) => settingTable[name].file),
  )
}
