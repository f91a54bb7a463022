import { fdatasyncSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { closeQuietly, writing } from '../file-error.ts'

export function replyFile(folder: string, key: string): string {
  return join(folder, 'replies', key)
}

/** Enough for its id after an echoed prompt of the greatest length. */
export const jobReplyBeginningBytes = 160 * 1024

export type ReplyLog = ReturnType<typeof openReplyLog>

/** On disk as it arrives: a process killed before reading it has not lost the job's id. @throws FileError */
export function openReplyLog(path: string, clean: (text: string) => string) {
  const descriptor = writing(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return openSync(path, 'w', 0o600)
  })
  let beginning = Buffer.alloc(0)
  let nextSync = 1
  let isOpen = true
  const close = (): void => {
    if (isOpen) closeQuietly(descriptor)
    isOpen = false
  }
  return {
    /** The bytes are on the disk when it returns. Never throws: a disk that fails must not fail the job. */
    add(bytes: Uint8Array): void {
      if (!isOpen || beginning.length >= jobReplyBeginningBytes) return
      beginning = Buffer.concat([beginning, bytes.subarray(0, jobReplyBeginningBytes - beginning.length)])
      try {
        // All of it again, because a secret may arrive in two pieces.
        const text = Buffer.from(clean(beginning.toString()))
        writeSync(descriptor, text, 0, text.length, 0)
        ftruncateSync(descriptor, text.length)
        if (beginning.length < nextSync) return
        fdatasyncSync(descriptor)
        nextSync = beginning.length * 2
      } catch {
        close()
      }
    },
    close,
  }
}
