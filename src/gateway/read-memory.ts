import type { Socket } from 'node:net'

/** How a socket reads into memory of ours: the option `onread` of `net.connect` and `tls.connect`. */
export interface ReadMemory {
  /** Called before each read. */
  buffer(): Uint8Array
  /** Called after each read; false stops reading until the socket is asked for more. */
  callback(this: Socket, length: number, memory: Uint8Array): boolean
}

/** The most that the first reads take, in bytes; as much as in Node's own way of reading. */
const firstSize = 65_536
/**
 * Once a read has been filled, there is much to read: each costs a turn of the loop, whatever its size. Measured on
 * streams of 23 MB: 256 KiB take an eighth longer than this, 512 KiB no less, and 1 MiB needs more time and memory.
 */
const fullSize = 393_216

/**
 * Memory that is used again once what came in it has been consumed; Node would take new memory for each read, and the
 * system would have to clear it.
 * @param isInUse whether something that was delivered in this memory is still to be looked at
 */
export function createReadMemory(isInUse: (memory: ArrayBufferLike) => boolean): ReadMemory {
  let size = firstSize
  let next: Uint8Array = Buffer.allocUnsafeSlow(size)
  let known = [next]
  const addNew = () => {
    const added = Buffer.allocUnsafeSlow(size)
    known.push(added)
    return added
  }
  return {
    buffer: () => next,
    callback(length, memory) {
      if (length === firstSize && size === firstSize) {
        size = fullSize
        known = []
      }
      // What has not been taken from the socket yet may lie in any of them.
      const mayBeFree = this.readableLength === 0
      const isFree = (one: Uint8Array) => mayBeFree && one !== memory && !isInUse(one.buffer)
      next = known.find(isFree) ?? addNew()
      return this.push(memory.subarray(0, length))
    },
  }
}
