import { STATUS_CODES } from 'node:http'
import { allFrames, frameBytes } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import type { FaultRule } from './rule.ts'

/** Bytes for the socket itself, of replies that Node's HTTP server refuses to send; undefined for all others. */
export async function rawReplyOf(fault: FaultRule, reply: Reply): Promise<string | Buffer | undefined> {
  switch (fault.action) {
    case 'not-http':
      return typeof fault.body === 'string' ? fault.body : 'SSH-2.0-OpenSSH_9.9\r\n'
    case 'huge-headers':
      return head(reply, { 'x-filler': 'x'.repeat(65_536), 'content-length': '0' })
    case 'bad-chunk': {
      const [first = Buffer.alloc(0)] = await pieces(reply)
      return Buffer.concat([
        Buffer.from(`${head(reply, { 'transfer-encoding': 'chunked' })}${first.length.toString(16)}\r\n`),
        first,
        Buffer.from('\r\nnot-a-size\r\n'),
      ])
    }
    case 'short-length': {
      const body = Buffer.concat(await pieces(reply))
      return Buffer.concat([Buffer.from(head(reply, { 'content-length': String(body.length + 100) })), body])
    }
    default:
      return undefined
  }
}

async function pieces({ frames }: Reply): Promise<Uint8Array[]> {
  return (await allFrames(frames)).map(frameBytes)
}

function head(reply: Reply, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...reply.headers, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}\r\n${lines.join('')}connection: close\r\n\r\n`
}
