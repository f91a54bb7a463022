import { AsyncLocalStorage } from 'node:async_hooks'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

/** Is asked before each call of an action to the network. @returns what the call fails with */
export type FailSocketCall = (name: SocketCall) => Error | undefined

export type SocketCall = 'lookup' | 'connect' | 'socket.write' | 'socket.read' | 'socket.shutdown'

type AnyFunction = (this: Socket, ...values: unknown[]) => unknown

/** What a connection fails with that never comes about: packets to its host vanish. */
export const silence = new Error('no answer')

const actions = new AsyncLocalStorage<FailSocketCall>()
let isInstalled = false

/**
 * Asks before every call of an action to the network: names that are looked up, connections, writes, reads (the end of
 * the other side's bytes is one) and the end of the own bytes. Sockets of others in this process work as ever.
 */
export function withSocketHook<Value>(fail: FailSocketCall, action: () => Value): Value {
  if (!isInstalled) install()
  isInstalled = true
  return actions.run(fail, action)
}

/** The real functions stand behind wrappers from now on, which do nothing outside an action. */
function install(): void {
  const sockets = Socket.prototype as unknown as Record<string, AnyFunction>
  wrap(sockets, 'connect', 'connect', (socket, error) => {
    if (error !== silence) process.nextTick(() => socket.destroy(error))
    return socket
  })
  for (const name of ['_write', '_writev', '_final'] as const) {
    wrap(sockets, name, name === '_final' ? 'socket.shutdown' : 'socket.write', (_, error, values) => {
      process.nextTick(values.at(-1) as (error: Error) => void, error)
    })
  }
  // Node gives a socket what it has read here.
  wrap(sockets, 'push', 'socket.read', (socket, error) => {
    socket.destroy(error)
    return false
  })
  wrap(dns as never, 'lookup', 'lookup', (_, error, values) => {
    process.nextTick(values.at(-1) as (error: Error) => void, error)
  })
  syncBuiltinESMExports()
}

function wrap(
  owner: Record<string, AnyFunction>,
  name: string,
  call: SocketCall,
  failed: (socket: Socket, error: Error, values: unknown[]) => unknown,
): void {
  const real = owner[name]!
  const wrapped: AnyFunction = function (this: Socket, ...values) {
    const error = actions.getStore()?.(call)
    return error === undefined ? real.apply(this, values) : failed(this, error, values)
  }
  owner[name] = Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(real))
}
