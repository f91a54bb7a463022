import { readFileSync, readdirSync, readlinkSync, fstatSync, writeSync } from 'node:fs'
import { basename } from 'node:path'

/** They open /dev/null for writing alone. Others, such as Node and Python, open it for reading as well. */
const shells =
  /^(?:sh|ash|bash|busybox|csh|dash|elvish|fish|ksh|ksh93|loksh|mksh|oksh|osh|pdksh|tcsh|yash|zsh)(?:-[\d.]+)?$/

/**
 * Whether standard output was closed (`>&-`) when the program was started.
 * Node puts /dev/null, open for reading and writing, in the place of a closed descriptor. Whoever discards the output
 * on purpose may give us just that, but no shell does: so it depends on who did not inherit it. Only Linux tells.
 * @param parent the process id of who started this one
 */
export function isOutputClosed(parent: number): boolean {
  try {
    if (outputOf('self') !== 'null') return false
    // Process 1 adopts what others have started.
    for (let id = parent; id > 1; id = parentOf(id)) {
      const output = outputOf(id)
      if (output === 'closed') return true
      if (output === 'other') return shells.test(basename(readlinkSync(`/proc/${id}/exe`)))
    }
    return false
  } catch {
    // There is no /proc, or the process is somebody else's.
    return false
  }
}

/** `null` is also what Node makes of a closed one. */
function outputOf(id: number | 'self'): 'null' | 'closed' | 'other' {
  const folder = `/proc/${id}`
  if (!readdirSync(`${folder}/fd`).includes('1')) return 'closed'
  if (readlinkSync(`${folder}/fd/1`) !== '/dev/null') return 'other'
  const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`${folder}/fdinfo/1`, 'latin1')) ?? []
  // The last two bits: 0 for reading, 1 for writing, 2 for both.
  return (Number.parseInt(flags, 8) & 3) === 2 ? 'null' : 'other'
}

function parentOf(id: number): number {
  // The name, which comes before it in parentheses, may hold anything.
  const [, , parent] = readFileSync(`/proc/${id}/stat`, 'latin1').split(')').at(-1)!.split(' ')
  return Number(parent)
}

/** Whether a descriptor is open for a regular file. */
export function isRegularFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}

/**
 * Writes all of a chunk to a file that is open. Node's own stream for standard output takes it for a success when a disk
 * that fills up takes only a part.
 */
export function writeToFile(
  descriptor: number,
  chunk: string | Uint8Array,
  fail: (error: NodeJS.ErrnoException) => void,
): void {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
  } catch (error) {
    fail(error as NodeJS.ErrnoException)
  }
}
