import type { Context } from '../context.ts'
import { maxKeyBytes } from '../contract/limits.ts'
import { ModelgateError } from '../errors.ts'
import { readInputFile } from '../files/read-input-file.ts'

/**
 * The key in a file or a pipe, without the white space around it.
 * @throws UsageError when it holds far more than a key, is missing or a device; FileError when it cannot be read
 */
export async function readKeyFile(context: Context, path: string, source: string): Promise<string> {
  const bytes = await readInputFile(context, path, { maxBytes: maxKeyBytes })
  if (!(bytes instanceof ModelgateError)) return trimKey(bytes)
  // A secret that did not arrive is reported by whoever looks at the key.
  if (bytes.code === 'empty_file') return ''
  const { exit, message, facts } = bytes
  throw new ModelgateError(exit, 'config_invalid', `The key file (${source}): ${message}`, {
    ...facts,
    phase: 'config',
  })
}

/** What a file or a command wrote, without a byte order mark and without the white space around it. */
export function trimKey(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).trim()
}
