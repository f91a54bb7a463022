import type { Socket } from 'node:net'

/** How a socket reads into memory of ours: the option `onread` of `net.connect` and `tls.connect`. */
export interface ReadMemory {
  /** Called before each read. */
  buffer(): Uint8Array
  /** Called after each read; false stops reading until the socket is asked for more. */
  callback(this: Socket, length: number, memory: Uint8Array): boolean
}

/** The most that one read takes, in bytes; as much as in Node's own way of reading. */
const readSize = 65_536

/**
 * Memory that is used again once what came in it has been consumed; Node would take new memory for each read.
 * @param isConsumed whether all that was delivered is no longer looked at
 */
export function createReadMemory(isConsumed: () => boolean): ReadMemory {
  let next: Uint8Array = Buffer.allocUnsafeSlow(readSize)
  let previous: Uint8Array | undefined
  return {
    buffer: () => next,
    callback(length, memory) {
      const isFree = this.readableLength === 0 && isConsumed()
      next = (isFree ? previous : undefined) ?? Buffer.allocUnsafeSlow(readSize)
      previous = memory
      return this.push(memory.subarray(0, length))
    },
  }
}
