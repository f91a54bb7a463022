import { end, head, json, readAll, sse, write, type ServerReply } from '../../support/server-replies.ts'
import { noisyPng, pngBytes, webpBytes } from '../../support/image-bytes.ts'

/** Small whole pictures. */
export const red = pngBytes({ width: 2, height: 1 })
export const blue = pngBytes({ width: 3, height: 1 })
export const webp = webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0, 0]))
/** Many writes long. */
export const large = noisyPng(500, 300)

export const base64 = (content: string | Uint8Array) => Buffer.from(content as string).toString('base64')

/** An image result with these items; bytes stand for an item in base64. */
export function images(...items: readonly (object | Uint8Array)[]): ServerReply {
  return json(resultOf(...items), { headers: { 'x-request-id': 'req-1' } })
}

export function resultOf(...items: readonly (object | Uint8Array)[]) {
  const data = items.map((item) => (item instanceof Uint8Array ? { b64_json: base64(item) } : item))
  return { created: 1, data, usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }
}

/** What an address gives. */
export function file(bytes: Uint8Array, headers: Readonly<Record<string, string>> = {}): ServerReply {
  return [
    readAll,
    write(head(200, { 'content-length': String(bytes.length), ...headers })),
    write(bytes),
    end,
  ]
}

const event = (type: string, more: object) =>
  `event: image_generation.${type}\ndata: ${JSON.stringify({ type: `image_generation.${type}`, ...more })}\n\n`

export const completed = (bytes: Uint8Array, more: object = {}) =>
  event('completed', { b64_json: base64(bytes), ...more })
export const partial = (bytes: Uint8Array, index = 0) =>
  event('partial_image', { b64_json: base64(bytes), partial_image_index: index })
export const failed =
  'event: error\ndata: {"type":"error","error":{"message":"It broke.","code":"server_error"}}\n\n'

export const stream = sse
