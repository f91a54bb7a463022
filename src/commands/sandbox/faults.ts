import { parseYaml } from '../../config/parse-yaml.ts'
import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { decodeText, invalidTextClause } from '../../files/decode-text.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/read-input-file.ts'
import type { FaultRule } from '../../sandbox/faults/rule.ts'

const maxBytes = 1024 * 1024

/**
 * Reads fault rules from a YAML or JSON file (JSON is YAML too): a list, or an object with the list under `faults`.
 * @throws FileError when the file cannot be read, UsageError with every problem of what it holds
 */
export async function readFaults(context: Context, path: string): Promise<FaultRule[]> {
  const bytes = await readInputFile(context, path, { maxBytes })
  if (bytes instanceof ModelgateError) throw bytes
  const source = shownPath(path)
  const { text, invalid } = decodeText(bytes)
  if (text === undefined) throw new UsageError(`--faults: ${source} ${invalidTextClause(invalid)}.`)
  const value = await parseYaml(path, text)
  const { parseFaultRules } = await import('../../sandbox/faults/rule.ts')
  const isWrapped = typeof value === 'object' && value !== null && 'faults' in value
  return parseFaultRules(isWrapped ? value.faults : value, source)
}
