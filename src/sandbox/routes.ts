import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Fields } from '../contract/field.ts'
import { imageEditEndpoint } from '../contract/images.ts'
import { videoCreateEndpoint, videoRemixEndpoint } from '../contract/videos.ts'
import { createPromptCache } from './answer/prompt-cache.ts'
import { generateContent } from './generate-content/answer-request.ts'
import type { Handler, Router, ServerContext } from './http/handle-request.ts'
import { createImages, editImages } from './images/image-endpoints.ts'
import { pacingOf } from './job-pacing.ts'
import { createImageStore, serveImage } from './images/image-store.ts'
import { readForm } from './http/read-form.ts'
import { getModel, listModels } from './sandbox-models.ts'
import { createResponse, cancelResponse, getResponse } from './responses/create-response.ts'
import { createResponseStore } from './responses/response-store.ts'
import { createOperation, lookUpOperation, redirectToFile, serveFile } from './videos/operation-endpoints.ts'
import { createVideoService } from './videos/service.ts'
import {
  createVideo,
  deleteVideo,
  getVideo,
  listVideos,
  remixVideo,
  serveContent,
} from './videos/video-endpoints.ts'

/** Method and path; braces contain a name for one segment of the path, or a part of it. */
type Route = readonly [method: string, path: string, handler: Handler]

/**
 * All endpoints, each on its path.
 * @param folder where video jobs and background responses are kept; undefined for memory
 */
export function createRouter(server: ServerContext, folder: string | undefined): Router {
  const routes = [...textRoutes(server, folder), ...imageRoutes(server), ...videoRoutes(server, folder)].map(
    ([method, path, handler]) => ({ method, pattern: patternOf(path), handler }),
  )
  return {
    find(method, path) {
      const wanted = method === 'HEAD' ? 'GET' : method
      for (const route of routes) {
        const groups = route.method === wanted ? route.pattern.exec(path)?.groups : undefined
        if (groups === undefined) continue
        const params = Object.entries(groups).map(([name, value]) => [name, decoded(value)])
        return { handler: route.handler, params: Object.fromEntries(params) }
      }
      return undefined
    },
    methods(path) {
      const taken = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
      if (taken.length === 0) return []
      return [...taken.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
    },
  }
}

/** A group for every name, and one that always exists. A model's name may contain colons. */
function patternOf(path: string): RegExp {
  return new RegExp(`^(?<path>${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')})$`)
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function textRoutes(server: ServerContext, folder: string | undefined): Route[] {
  const store = createResponseStore(server, folder && join(folder, 'responses'), server.keepsAllResponses)
  const { pendingMs, runningMs } = pacingOf(server.latency)
  const cache = createPromptCache()
  const service = { ...server, store, cache, pacing: { pendingMs, runningMs } }
  const generate = (streams: boolean): Handler => ({
    endpoint: 'generate-content',
    answer: (request) => generateContent(request, streams, service),
  })
  return [
    ['POST', '/v1(?:beta)?/models/{model}:streamGenerateContent', generate(true)],
    ['POST', '/v1(?:beta)?/models/{model}:generateContent', generate(false)],
    ['GET', '/v1(?:beta)?/models', { endpoint: 'models', answer: listModels }],
    // Not the methods of a model, which follow a colon.
    ['GET', '/v1(?:beta)?/models/(?<model>[^/:]+)', { endpoint: 'models', answer: getModel }],
    route('POST', '/v1/responses', 'responses', createResponse),
    // Not the public endpoints that are not offered.
    route('GET', '/v1/responses/(?!(?:compact|input_tokens)$){id}', 'response-lookup', getResponse),
    route('POST', '/v1/responses/{id}/cancel', 'response-cancel', cancelResponse),
  ]
  function route(
    method: string,
    path: string,
    endpoint: Handler['endpoint'],
    answer: typeof createResponse,
  ): Route {
    return [method, path, { endpoint, answer: (request) => answer(request, service) }]
  }
}

function imageRoutes(server: ServerContext): Route[] {
  const store = createImageStore(server.clock, server.seed)
  return [
    [
      'POST',
      '/v1/images/generations',
      { endpoint: 'image-generations', answer: (request) => createImages(request, store, server) },
    ],
    [
      'POST',
      '/v1/images/edits',
      {
        endpoint: 'image-edits',
        readBody: (incoming) => readForm(incoming, imageEditEndpoint.fields),
        answer: (request) => editImages(request, store, server),
      },
    ],
    [
      'GET',
      '/sandbox/images/{file}',
      { endpoint: 'image-files', needsNoKey: true, answer: (request) => serveImage(request, store) },
    ],
  ]
}

function videoRoutes(server: ServerContext, folder: string | undefined): Route[] {
  const service = createVideoService(server, folder)
  const route = (
    method: string,
    path: string,
    endpoint: Handler['endpoint'],
    answer: typeof createVideo,
    fields?: Fields,
  ): Route => {
    // Both endpoints that take a form take JSON as well (wire notes, "Videos").
    const isForm = (incoming: IncomingMessage) => /^multipart\//i.test(incoming.headers['content-type'] ?? '')
    const forms = fields && {
      readBody: (incoming: IncomingMessage) => (isForm(incoming) ? readForm(incoming, fields) : undefined),
    }
    return [method, path, { endpoint, ...forms, answer: (request) => answer(request, service) }]
  }
  // Not the public endpoints that are not offered.
  const video = '/v1/videos/(?!(?:edits|extensions|characters)$){id}'
  return [
    route('POST', '/v1/videos', 'video-create', createVideo, videoCreateEndpoint.fields),
    route('GET', '/v1/videos', 'video-lookup', listVideos),
    route('GET', video, 'video-lookup', getVideo),
    route('DELETE', video, 'video-lookup', deleteVideo),
    route('GET', '/v1/videos/{id}/content', 'video-content', serveContent),
    route('POST', '/v1/videos/{id}/remix', 'video-remix', remixVideo, videoRemixEndpoint.fields),
    // Google's own client asks below `/v1` since its version 3.
    route('POST', '/v1(?:beta)?/models/{model}:predictLongRunning', 'video-operations', createOperation),
    route('GET', '/v1(?:beta)?/models/{model}/operations/{id}', 'operation-lookup', lookUpOperation),
    // That client takes a file's name out of https URIs only: others it puts into the path as they are.
    route(
      'GET',
      '/(?<version>v1|v1beta)/files/(?:http://.+/files/)?{file}:download',
      'video-files',
      redirectToFile,
    ),
    route('GET', '/download/v1(?:beta)?/files/{file}:download', 'video-files', serveFile),
  ]
}
