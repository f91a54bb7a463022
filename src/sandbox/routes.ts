import type { Fields } from '../contract/field.ts'
import { imageEditEndpoint } from '../contract/images.ts'
import { videoCreateEndpoint, videoRemixEndpoint } from '../contract/videos.ts'
import type { EndpointName } from './faults/fault-rule.ts'
import { answerContent } from './generate-content/answer-request.ts'
import { readForm, readJsonBody } from './http/read-body.ts'
import { createImages, editImages, serveImage } from './images/image-endpoints.ts'
import { cancelResponse, createResponse, getResponse } from './responses/create-response.ts'
import { mapped } from './json-value.ts'
import type { Exchange, Handler, Router } from './sandbox.ts'
import { getModel, listModels } from './sandbox-models.ts'
import {
  createOperation,
  lookUpOperation,
  redirectToFile,
  serveFile,
  createVideo,
  deleteVideo,
  getVideo,
  listVideos,
  remixVideo,
  serveContent,
} from './videos/video-endpoints.ts'

/** Method and path; braces contain a name for one segment of the path, or a part of it. */
type Route = readonly [
  method: string,
  path: string,
  endpoint: EndpointName,
  answer: Handler['answer'],
  more?: Partial<Handler>,
]

/** The endpoints for videos take JSON as well (wire notes, "Videos"). */
const form = (fields: Fields, takesJson = true): Partial<Handler> => ({
  readBody(exchange) {
    const isForm = /^multipart\//i.test(exchange.headers['content-type'] ?? '')
    return isForm || !takesJson ? readForm(exchange, fields) : readJsonBody(exchange)
  },
})

const streamContent = (exchange: Exchange) => answerContent(exchange, !exchange.ignoresStream)
const generateContent = (exchange: Exchange) => answerContent(exchange, false)

// Not the public endpoints that are not offered.
const response = '/v1/responses/(?!(?:compact|input_tokens)$){id}'
const video = '/v1/videos/(?!(?:edits|extensions|characters)$){id}'
// Google's own client asks below `/v1` since its version 3.
const models = '/v1(?:beta)?/models'

const routes: readonly Route[] = [
  ['POST', `${models}/{model}:streamGenerateContent`, 'generate-content', streamContent],
  ['POST', `${models}/{model}:generateContent`, 'generate-content', generateContent],
  ['GET', models, 'models', listModels],
  // Not the methods of a model, which follow a colon.
  ['GET', `${models}/(?<model>[^/:]+)`, 'models', getModel],
  ['POST', '/v1/responses', 'responses', createResponse],
  ['GET', response, 'response-lookup', getResponse],
  ['POST', '/v1/responses/{id}/cancel', 'response-cancel', cancelResponse],
  ['POST', '/v1/images/generations', 'image-generations', createImages],
  ['POST', '/v1/images/edits', 'image-edits', editImages, form(imageEditEndpoint.fields, false)],
  ['GET', '/sandbox/images/{file}', 'image-files', serveImage, { needsNoKey: true }],
  ['POST', '/v1/videos', 'video-create', createVideo, form(videoCreateEndpoint.fields)],
  ['GET', '/v1/videos', 'video-lookup', listVideos],
  ['GET', video, 'video-lookup', getVideo],
  ['DELETE', video, 'video-lookup', deleteVideo],
  ['GET', '/v1/videos/{id}/content', 'video-content', serveContent],
  ['POST', '/v1/videos/{id}/remix', 'video-remix', remixVideo, form(videoRemixEndpoint.fields)],
  ['POST', `${models}/{model}:predictLongRunning`, 'video-operations', createOperation],
  ['GET', `${models}/{model}/operations/{id}`, 'operation-lookup', lookUpOperation],
  // That client takes a file's name out of https URIs only: others it puts into the path as they are.
  ['GET', '/(?<version>v1|v1beta)/files/(?:http://.+/files/)?{file}:download', 'video-files', redirectToFile],
  ['GET', '/download/v1(?:beta)?/files/{file}:download', 'video-files', serveFile],
]

const compiled = routes.map(([method, path, endpoint, answer, more]) => ({
  method,
  pattern: patternOf(path),
  handler: { endpoint, answer, ...more } satisfies Handler,
}))

export const ownRouter: Router = {
  find(method, path) {
    const wanted = method === 'HEAD' ? 'GET' : method
    for (const route of compiled) {
      const groups = route.method === wanted ? route.pattern.exec(path)?.groups : undefined
      if (groups === undefined) continue
      return { handler: route.handler, params: mapped(groups, decoded) }
    }
    return undefined
  },
  methods(path) {
    const taken = compiled.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return taken.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  },
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
