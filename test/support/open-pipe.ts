import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

/** A pipe that this process holds open, under the name that a shell gives for `>(gzip)`; it takes 64 KB. */
export function openPipe() {
  const pipe = join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const descriptor = openSync(pipe, 'r+')
  onTestFinished(() => closeSync(descriptor))
  return {
    path: `/dev/fd/${descriptor}`,
    /** Reads what has been written, which are at least so many bytes. */
    read(bytes: number): Buffer {
      const content = Buffer.alloc(bytes)
      return content.subarray(0, readSync(descriptor, content))
    },
  }
}
