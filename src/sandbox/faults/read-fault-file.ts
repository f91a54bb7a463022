import { readFile } from 'node:fs/promises'
import { FileError, UsageError } from '../../errors.ts'
import { parseFaultRules } from './rule.ts'
import type { FaultRule } from './rule.ts'

const maxBytes = 1024 * 1024

/**
 * Reads fault rules from a YAML or JSON file: a list, or an object with the list under `faults`.
 * @throws FileError when the file cannot be read, UsageError when it holds something else
 */
export async function readFaultFile(path: string): Promise<FaultRule[]> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new FileError('unreadable', `The fault rules ${path} cannot be read: ${reason}.`, {
      phase: 'input',
      billed: 'no',
      cause: error,
    })
  }
  if (bytes.length > maxBytes)
    throw new UsageError(`${path}: fault rules may have at most ${maxBytes} bytes.`)
  const value = await parseYaml(bytes.toString('utf8'), path)
  const isWrapped = typeof value === 'object' && value !== null && 'faults' in value
  return parseFaultRules(isWrapped ? value.faults : value, path)
}

/** JSON is YAML too. The limits keep a hostile file from filling memory (aliases) or the stack (depth). */
async function parseYaml(text: string, path: string): Promise<unknown> {
  const { load } = await import('js-yaml')
  try {
    return load(text, { filename: path, maxDepth: 64, maxAliases: 100 })
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    throw new UsageError(`${path}: not valid YAML or JSON: ${reason}.`, { cause: error })
  }
}
