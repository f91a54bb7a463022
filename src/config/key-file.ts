import { open } from 'node:fs/promises'
import { configError } from './problem.ts'

/** Far more than any key; the file may be a pipe or a device. */
const largestBytes = 65_536

/**
 * The key in a file, without the white space around it.
 * @throws UsageError when the file cannot be read or holds far more than a key
 */
export async function readKeyFile(path: string, source: string): Promise<string> {
  const bytes = await read(path).catch((error: NodeJS.ErrnoException) => {
    throw configError(
      `${path}: the key file (${source}) cannot be read: ${reasonOf(error)}.`,
      undefined,
      error,
    )
  })
  if (bytes.length > largestBytes)
    throw configError(`${path}: the key file (${source}) is not a key: it is too long.`)
  return trimKey(bytes)
}

/** What a file or a command wrote, without a byte order mark and without the white space around it. */
export function trimKey(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).trim()
}

async function read(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.alloc(largestBytes + 1)
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return buffer.subarray(0, length)
  } finally {
    await file.close()
  }
}

function reasonOf({ code }: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file',
    EACCES: 'permission denied',
    EISDIR: 'it is a folder',
  }
  return reasons[code ?? ''] ?? code ?? 'unknown reason'
}
