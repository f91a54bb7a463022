import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'

/** The beginning of a reply, on disk as it comes: whoever is killed before it is read has not lost the job's id. */
export interface ReplyLog {
  /** The bytes are on the disk when it returns. Never throws: a disk that fails must not fail the job. */
  add(bytes: Uint8Array): void
  close(): void
}

/** The id of a job stands near the beginning of a reply. */
const mostBytes = 16_384

/**
 * Creates the file, which only the user may read.
 * @param clean takes secrets out of what is written
 * @throws the error of the system
 */
export function openReplyLog(path: string, clean: (text: string) => string): ReplyLog {
  const descriptor = openSync(path, 'wx', 0o600)
  let beginning = Buffer.alloc(0)
  let nextSync = 1
  let isOpen = true
  const close = () => {
    if (isOpen) closeSync(descriptor)
    isOpen = false
  }
  return {
    add(bytes) {
      if (!isOpen || beginning.length >= mostBytes) return
      beginning = Buffer.concat([beginning, bytes.subarray(0, mostBytes - beginning.length)])
      try {
        // All of it again, because a secret may come in two pieces.
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
