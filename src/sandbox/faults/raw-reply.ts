import { STATUS_CODES } from 'node:http'
import type { Reply } from '../http/reply.ts'
import type { FaultRule } from './rule.ts'

/** Bytes for the socket itself, of replies that Node's HTTP server refuses to send; undefined for all others. */
export function rawReplyOf(fault: FaultRule, reply: Reply): string | undefined {
  switch (fault.action) {
    case 'not-http':
      return typeof fault.body === 'string' ? fault.body : 'SSH-2.0-OpenSSH_9.9\r\n'
    case 'huge-headers':
      return head(reply, { 'x-filler': 'x'.repeat(65_536), 'content-length': '0' })
    case 'bad-chunk': {
      const [first = ''] = texts(reply)
      const size = Buffer.byteLength(first).toString(16)
      return `${head(reply, { 'transfer-encoding': 'chunked' })}${size}\r\n${first}\r\nnot-a-size\r\n`
    }
    case 'short-length': {
      const body = texts(reply).join('')
      return head(reply, { 'content-length': String(Buffer.byteLength(body) + 100) }) + body
    }
    default:
      return undefined
  }
}

function texts({ frames }: Reply): string[] {
  return Array.from(frames, (frame) => frame.text)
}

function head(reply: Reply, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...reply.headers, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}\r\n${lines.join('')}connection: close\r\n\r\n`
}
