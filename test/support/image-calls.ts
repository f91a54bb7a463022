import { decodeImage, type Pixels } from '../../src/files/codecs.ts'
import { sniffMediaType } from '../../src/files/media-type.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { call, type Answer, type Json } from './running-sandbox.ts'

/** Asks for images. */
export function create(sandbox: Sandbox, body: Json, headers: Json = {}): Promise<Answer> {
  return call(sandbox, '/v1/images/generations', body, { headers })
}

export interface FilePart {
  readonly name: string
  readonly bytes: Uint8Array
  readonly type?: string
}

/** A file part of a form: a PNG named `image`, unless told otherwise. */
export function part(bytes: Uint8Array, name = 'image', type = 'image/png'): FilePart {
  return { bytes, name, type }
}

/** Asks for an edit. */
export async function edit(
  sandbox: Sandbox,
  fields: Json,
  files: readonly FilePart[],
  headers: Json = {},
): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  for (const { name, bytes, type } of files) {
    form.append(name, new File([Buffer.from(bytes)], 'picture', { type: type ?? '' }))
  }
  const response = await fetch(`${sandbox.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: 'Bearer test-key', ...headers },
    body: form,
  })
  const text = await response.text()
  const json: Json = /^\s*\{/.test(text) ? JSON.parse(text) : {}
  return { status: response.status, headers: response.headers, text, json }
}

/** The bytes of an item of `data`, or of an event. */
export function bytesOf({ b64_json }: Json): Uint8Array {
  return Buffer.from(b64_json, 'base64')
}

/** The pixels of an item of `data`, or of an event, with the type that its bytes tell. */
export async function pixelsOf(item: Json): Promise<Pixels & { readonly mediaType: string }> {
  const bytes = bytesOf(item)
  const mediaType = sniffMediaType(bytes) ?? ''
  return { ...(await decodeImage(bytes, mediaType)), mediaType }
}
