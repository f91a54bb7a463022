import type { IncomingMessage } from 'node:http'
import { videoCreateEndpoint } from '../../contract/video-create.ts'
import type { Fields } from '../../contract/field.ts'
import { videoRemixEndpoint } from '../../contract/videos.ts'
import type { Exchanges, Handler } from '../http/handler.ts'
import { readJsonBody } from '../http/read-body.ts'
import { readForm } from '../images/read-form.ts'
import type { RequestContent } from '../request.ts'
import { originOf, pathPart } from '../serve.ts'
import type { App, Call, Serve } from '../serve.ts'
import { createOperation } from './create-operation.ts'
import { createVideo } from './create-video.ts'
import { createFilmShelf } from './film-shelf.ts'
import { createJobStore } from './job-store.ts'
import { lookUpOperation } from './look-up-operation.ts'
import { deleteVideo, getVideo, listVideos } from './look-up-video.ts'
import { remixVideo } from './remix-video.ts'
import { redirectToFile, serveContent, serveFile } from './serve-video.ts'
import { pacingOf } from './timeline.ts'
import type { VideoWorks } from './works.ts'

/**
 * Puts the video endpoints on their paths.
 * @param folder where jobs are kept; undefined for memory
 */
export function addVideoRoutes(
  app: App,
  { seed, clock, media, latency, signal }: Exchanges,
  serve: Serve,
  folder: string | undefined,
): VideoWorks {
  const works: VideoWorks = {
    seed,
    clock,
    media,
    jobs: createJobStore(clock, folder),
    films: createFilmShelf(signal, media),
    pacing: pacingOf(latency),
  }
  addVideos(app, serve, works)
  // Google's own client asks below `/v1` since its version 3.
  for (const version of ['v1beta', 'v1']) addGoogleRoutes(app, serve, works, version)
  return works
}

/** `POST /v1beta/models/{model}:predictLongRunning` */
export function operationHandler(model: string, works: VideoWorks): Handler {
  return {
    endpoint: 'video-operations',
    model,
    answer: (request) => createOperation(request, model, works),
  }
}

function addGoogleRoutes(app: App, serve: Serve, works: VideoWorks, version: string): void {
  app.get(
    `/${version}/models/:model/operations/:id`,
    serve((call) => {
      const model = pathPart(call, 'model')
      return {
        endpoint: 'operation-lookup',
        model,
        answer: () => lookUpOperation(model, pathPart(call, 'id'), originOf(call), works),
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
      fileHandler(call, (fileId) => (request) => redirectToFile(request, version, fileId, works)),
    ),
  )
  app.get(
    `/download/${version}/files/:file`,
    serve((call) => fileHandler(call, (fileId) => (request) => serveFile(request, fileId, works))),
  )
}

function addVideos(app: App, serve: Serve, works: VideoWorks): void {
  const idOf = (call: Call) => pathPart(call, 'id')
  app.post(
    '/v1/videos',
    serve(() => ({
      endpoint: 'video-create',
      readContent: jsonOrForm(videoCreateEndpoint.fields),
      answer: (request) => createVideo(request, works),
    })),
  )
  app.get(
    '/v1/videos',
    serve(() => ({ endpoint: 'video-lookup', answer: (request) => listVideos(request, works) })),
  )
  app.get(
    '/v1/videos/:id',
    serve((call) => ({ endpoint: 'video-lookup', answer: () => getVideo(idOf(call), works) })),
  )
  app.delete(
    '/v1/videos/:id',
    serve((call) => ({ endpoint: 'video-lookup', answer: () => deleteVideo(idOf(call), works) })),
  )
  app.get(
    '/v1/videos/:id/content',
    serve((call) => ({
      endpoint: 'video-content',
      answer: (request) => serveContent(request, idOf(call), works),
    })),
  )
  app.post(
    '/v1/videos/:id/remix',
    serve((call) => ({
      endpoint: 'video-remix',
      readContent: jsonOrForm(videoRemixEndpoint.fields),
      answer: (request) => remixVideo(request, idOf(call), works),
    })),
  )
}

/** Both endpoints take either (wire facts, "Videos"). */
function jsonOrForm(fields: Fields) {
  return async (incoming: IncomingMessage): Promise<RequestContent> =>
    /^multipart\//i.test(incoming.headers['content-type'] ?? '')
      ? readForm(incoming, fields)
      : readJsonBody(incoming)
}
