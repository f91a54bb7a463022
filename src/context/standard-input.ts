import { fstatSync, readFileSync, readSync } from 'node:fs'
import { isatty } from 'node:tty'

/** What stands behind standard input; only a pipe can be open and silent. */
export type InputKind = 'terminal' | 'file' | 'pipe' | 'empty'

/** How much of a file has been read before this program came; `none` where the system does not tell. */
export type Consumed = 'none' | 'some' | 'all'

export interface Input {
  readonly kind: InputKind
  /** More than `none` only for a file, which then belongs to somebody else: the `while read` loop around this program. */
  readonly consumed: Consumed
  /** The bytes, as they come, to the end. */
  read(): AsyncIterable<Uint8Array>
  /** Stops reading, so that an open pipe does not keep the program alive. */
  release(): void
  /** The stream itself, for a library that asks questions on the terminal. */
  readonly stream: NodeJS.ReadStream | undefined
}

/** @param open opens the stream: that loads all that it may need */
export function createInput(open: () => NodeJS.ReadStream): Input {
  let stream: NodeJS.ReadStream | undefined
  return {
    get kind() {
      return kindOf(0)
    },
    get consumed() {
      return consumedOf(0)
    },
    async *read() {
      // Regular files are read directly: a stream of one cannot be released early.
      if (kindOf(0) === 'file') yield* readDescriptor(0)
      else for await (const chunk of (stream ??= open())) yield chunk as Uint8Array
    },
    release() {
      stream?.destroy()
    },
    get stream() {
      return (stream ??= open())
    },
  }
}

function kindOf(descriptor: number): InputKind {
  try {
    const stat = fstatSync(descriptor)
    if (stat.isFile()) return 'file'
    if (stat.isCharacterDevice()) return isatty(descriptor) ? 'terminal' : 'empty'
    return 'pipe'
  } catch {
    // A closed descriptor has nothing to read.
    return 'empty'
  }
}

/** Only Linux tells the offset. A shell that reads ahead sets it back to the end of the line before it starts a program. */
function consumedOf(descriptor: number): Consumed {
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) return 'none'
    const [, offset] = /^pos:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? []
    if (offset === undefined || offset === '0') return 'none'
    return Number(offset) < stat.size ? 'some' : 'all'
  } catch {
    return 'none'
  }
}

function* readDescriptor(descriptor: number): Generator<Uint8Array> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(65_536)
    const length = readSync(descriptor, buffer)
    if (length === 0) return
    yield buffer.subarray(0, length)
  }
}
