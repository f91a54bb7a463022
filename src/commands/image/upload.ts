import type { GatewayRequest } from '../../gateway/gateway.ts'
import { jsonBody } from '../../gateway/send-request.ts'
import type { RequestBody } from '../../gateway/exchange.ts'
import { multipartBody } from '../../gateway/multipart.ts'
import type { ShownPart } from '../shared/dry-run.ts'
import type { ImageRequest } from './image-request.ts'
import type { ImageSource } from './source.ts'

/** The body of an image request as it is sent, and as a dry run shows it. */
export interface Upload extends Required<Pick<GatewayRequest, 'body' | 'contentType'>> {
  readonly shown: { readonly body: unknown } | { readonly parts: readonly ShownPart[] }
}

/** JSON for a creation, multipart for an edit (specification, endpoints 4 and 6). */
export function createUpload({ command, body, images, mask }: ImageRequest): Upload {
  if (command === 'image create') {
    return { body: jsonBody(body), contentType: 'application/json', shown: { body } }
  }
  // One picture is `image`, several are `image[]` (wire facts, "Images").
  const name = images.length === 1 ? 'image' : 'image[]'
  const files: [string, ImageSource][] = [
    ...images.map((image): [string, ImageSource] => [name, image]),
    ...(mask === undefined ? [] : [['mask', mask] as [string, ImageSource]]),
  ]
  const fields = Object.entries(body)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([field, value]) => ({
      name: field,
      value: typeof value === 'object' ? JSON.stringify(value) : String(value),
    }))
  const parts = files.map(([field, source]) => ({
    name: field,
    fileName: source.fileName,
    mediaType: source.mediaType,
    size: source.bytes,
    open: source.open,
  }))
  const shownFiles = files.map(([field, source]) => ({
    name: field,
    path: source.label,
    file_name: source.fileName,
    media_type: source.mediaType,
    bytes: source.bytes,
  }))
  return { ...multipartBody([...fields, ...parts]), shown: { parts: [...fields, ...shownFiles] } }
}

/** Counts what has been handed over. A request that is sent again starts anew. */
export function withProgress(body: RequestBody, report: (sent: number, total: number) => void): RequestBody {
  return {
    length: body.length,
    async *chunks() {
      let sent = 0
      for await (const chunk of body.chunks()) {
        yield chunk
        sent += chunk.length
        report(sent, body.length)
      }
    },
  }
}
