import type { ServerReply } from '../../../support/server-replies.ts'
import { red } from '../replies.ts'

/** What one reply leads to. */
export interface OddReply {
  readonly name: string
  readonly reply: ServerReply
  /** Flags beside `-o x.{ext}`, or `-o x-{index}.{ext}` where `-n` is given. */
  readonly words?: readonly string[]
  readonly exit: number
  /** The code of the error. */
  readonly code?: string
  /** What the one message says. */
  readonly says?: RegExp
  /** Names of the files there are in the end, with what is in them. */
  readonly files?: Readonly<Record<string, Uint8Array>>
  /** The same for those that are kept although they are not whole, and are no result. */
  readonly damaged?: Readonly<Record<string, Uint8Array>>
}

export const three = ['-n', '3']
export const streamed = ['--stream']
export const html = '<html><title>502 Bad Gateway</title></html>'
export const half = red.subarray(0, red.length - 8)

/** What can be decoded of the last image in a text that was cut. */
export function decodable(text: string): Buffer {
  const digits = /"b64_json":"([^"]*)$/.exec(text)![1]!
  return Buffer.from(digits.slice(0, digits.length - (digits.length % 4)), 'base64')
}
