import { serveBytes } from '../http/serve-bytes.ts'
import type { Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import type { ImageStore } from './image-store.ts'

/**
 * `GET /sandbox/images/{file}`: an image, or a part of it.
 * @throws RequestProblem 403 or 404 as the store says, 416
 */
export function serveImage(request: SandboxRequest, file: string, store: ImageStore): Reply {
  return serveBytes(request, 'image', store.find(file, request.query))
}
