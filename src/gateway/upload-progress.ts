import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { isObject, numberOf, objectOf } from './json-access.ts'

/** How the sending of one request goes on below the chunks: a slow line takes minutes for a single one. */
export interface UploadProgress {
  /** Whether the system has taken bytes since the last call. */
  hasMoved(): boolean
  /** To be called when nothing is sent any more. */
  end(): void
}

/** Documented by undici ("Diagnostics Channel Support"); told of every request, through a proxy, too. */
const channel = 'undici:client:sendHeaders'

/** @param body what was given to undici as the body: the request is known by it */
export function watchUpload(body: unknown): UploadProgress {
  let socket: Socket | undefined
  let before: number | null = null
  const onHeaders = (message: unknown) => {
    const sent = message as { readonly request: { readonly body: unknown }; readonly socket: Socket }
    if (sent.request.body === body) socket = sent.socket
  }
  subscribe(channel, onHeaders)
  return {
    hasMoved() {
      const now = unsentBytes(socket)
      const moved = before !== null && now !== before
      before = now
      return moved
    },
    end: () => void unsubscribe(channel, onHeaders),
  }
}

/**
 * Bytes that the system has not taken yet. A socket tells only of whole chunks; the handle that it writes to, and the
 * lowest of several (TLS, a tunnel), tells of bytes: Node's own `socket.setTimeout` goes by that, too.
 * Null where a Node does not tell: then only whole chunks count.
 */
function unsentBytes(socket: Socket | undefined): number | null {
  let handle = objectOf(objectOf(socket)['_handle'])
  while (isObject(handle['_parent'])) handle = handle['_parent']
  return numberOf(handle['writeQueueSize'])
}
