import type { IncomingMessage } from 'node:http'
import { videoCreateEndpoint } from '../../contract/video-create.ts'
import type { Fields } from '../../contract/field.ts'
import { videoRemixEndpoint } from '../../contract/videos.ts'
import type { Exchanges, Handler } from '../http/handler.ts'
import { readJsonBody } from '../http/read-body.ts'
import { readForm } from '../images/form.ts'
import type { RequestContent } from '../request.ts'
import { originOf, pathPart, type App, type Call, type Serve } from '../serve.ts'
import { createOperation, lookUpOperation } from './operation-endpoints.ts'
import { createVideo, deleteVideo, getVideo, listVideos, remixVideo } from './video-endpoints.ts'
import { createFilmCache, type VideoService } from './service.ts'
import { createJobStore } from './job-store.ts'
import { redirectToFile, serveContent, serveFile } from './content.ts'
import { pacingOf } from './job-state.ts'

/**
 * Puts the video endpoints on their paths.
 * @param folder where jobs are kept; undefined for memory
 */
export function addVideoRoutes(
  app: App,
  { seed, clock, media, latency }: Exchanges,
  serve: Serve,
  folder: string | undefined,
): VideoService {
  const service: VideoService = {
    seed,
    clock,
    media,
    jobs: createJobStore(clock, folder),
    films: createFilmCache(media),
    pacing: pacingOf(latency),
  }
  addVideos(app, serve, service)
  // Google's own client asks below `/v1` since its version 3.
  for (const version of ['v1beta', 'v1']) addGoogleRoutes(app, serve, service, version)
  return service
}

/** `POST /v1beta/models/{model}:predictLongRunning` */
export function operationHandler(model: string, service: VideoService): Handler {
  return {
    endpoint: 'video-operations',
    model,
    answer: (request) => createOperation(request, model, service),
  }
}

function addGoogleRoutes(app: App, serve: Serve, service: VideoService, version: string): void {
  app.get(
    `/${version}/models/:model/operations/:id`,
    serve((call) => {
      const model = pathPart(call, 'model')
      return {
        endpoint: 'operation-lookup',
        model,
        answer: () => lookUpOperation(model, pathPart(call, 'id'), originOf(call), service),
      }
    }),
  )
  const fileHandler = (call: Call, answer: (fileId: string) => Handler['answer']): Handler | undefined => {
    const [, fileId] = /^(.+):download$/.exec(pathPart(call, 'file')) ?? []
    return fileId === undefined ? undefined : { endpoint: 'video-files', answer: answer(fileId) }
  }
  app.get(
    `/${version}/files/:file`,
    serve((call) =>
      fileHandler(call, (fileId) => (request) => redirectToFile(request, version, fileId, service)),
    ),
  )
  app.get(
    `/download/${version}/files/:file`,
    serve((call) => fileHandler(call, (fileId) => (request) => serveFile(request, fileId, service))),
  )
}

function addVideos(app: App, serve: Serve, service: VideoService): void {
  const idOf = (call: Call) => pathPart(call, 'id')
  app.post(
    '/v1/videos',
    serve(() => ({
      endpoint: 'video-create',
      readContent: jsonOrForm(videoCreateEndpoint.fields),
      answer: (request) => createVideo(request, service),
    })),
  )
  app.get(
    '/v1/videos',
    serve(() => ({ endpoint: 'video-lookup', answer: (request) => listVideos(request, service) })),
  )
  app.get(
    '/v1/videos/:id',
    serve((call) => ({ endpoint: 'video-lookup', answer: () => getVideo(idOf(call), service) })),
  )
  app.delete(
    '/v1/videos/:id',
    serve((call) => ({ endpoint: 'video-lookup', answer: () => deleteVideo(idOf(call), service) })),
  )
  app.get(
    '/v1/videos/:id/content',
    serve((call) => ({
      endpoint: 'video-content',
      answer: (request) => serveContent(request, idOf(call), service),
    })),
  )
  app.post(
    '/v1/videos/:id/remix',
    serve((call) => ({
      endpoint: 'video-remix',
      readContent: jsonOrForm(videoRemixEndpoint.fields),
      answer: (request) => remixVideo(request, idOf(call), service),
    })),
  )
}

/** Both endpoints take either (wire notes, "Videos"). */
function jsonOrForm(fields: Fields) {
  return async (incoming: IncomingMessage): Promise<RequestContent> =>
    /^multipart\//i.test(incoming.headers['content-type'] ?? '')
      ? readForm(incoming, fields)
      : readJsonBody(incoming)
}
