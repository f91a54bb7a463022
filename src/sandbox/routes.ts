import { imageEditEndpoint } from '../contract/images.ts'
import { answerGenerateContent } from './generate-content/answer-request.ts'
import { exchange, assertLocal } from './http/decide.ts'
import type { Exchanges, Handler } from './http/handler.ts'
import { RequestProblem } from './http/problem.ts'
import { jsonReply } from './http/reply.ts'
import { createImages, editImages } from './images/endpoints.ts'
import { createImageStore, serveImage } from './images/image-store.ts'
import { readForm } from './images/form.ts'
import type { KeepImage } from './images/reply.ts'
import { modelCatalog, modelList } from './models.ts'
import { createResponse, cancelResponse, deleteResponse, getResponse } from './responses/create-response.ts'
import { createResponseStore } from './responses/response-store.ts'
import { originOf, pathPart, type App, type Call, type Serve } from './serve.ts'
import { addVideoRoutes, operationHandler } from './videos/routes.ts'
import type { VideoService } from './videos/service.ts'

/** Tells the server adapter that the reply has been written to Node's own response. */
const alreadySent = () => new Response(null, { headers: { 'x-hono-already-sent': 'true' } })

const idOf = (call: Call) => pathPart(call, 'id')

/**
 * Puts the endpoints on their paths. Every reply is written to Node's own response, so that faults can reach it.
 * @param folder where video jobs are kept; undefined for memory
 */
export function addRoutes(app: App, shared: Exchanges, folder: string | undefined): void {
  const store = createResponseStore(shared.clock)
  const serve: Serve = (handlerOf) => async (call) => {
    const { incoming, outgoing } = call.env
    await exchange(incoming, outgoing, handlerOf(call), shared)
    return alreadySent()
  }

  const service = addVideoRoutes(app, shared, serve, folder)
  const act = serve((call) => actionHandler(call, shared, service))
  app.post('/v1beta/models/:action', act)
  app.post('/v1/models/:action', act)
  app.get(
    '/v1beta/models',
    serve(() => ({ endpoint: 'models', answer: () => jsonReply(modelCatalog(), { pretty: true }) })),
  )

  app.post(
    '/v1/responses',
    serve(() => ({ endpoint: 'responses', answer: (request) => createResponse(request, store, shared) })),
  )
  app.get(
    '/v1/responses/:id',
    serve((call) => ({
      endpoint: 'response-lookup',
      answer: (request) => getResponse(request, idOf(call), store),
    })),
  )
  app.post(
    '/v1/responses/:id/cancel',
    serve((call) => ({ endpoint: 'response-lookup', answer: () => cancelResponse(idOf(call), store) })),
  )
  app.delete(
    '/v1/responses/:id',
    serve((call) => ({ endpoint: 'response-lookup', answer: () => deleteResponse(idOf(call), store) })),
  )
  addImageRoutes(app, shared, serve)
  app.get(
    '/v1/models',
    serve(() => ({ endpoint: 'models', answer: () => jsonReply(modelList()) })),
  )

  app.get('/sandbox/stats', (call) => {
    assertLocal(call.env.incoming.headers)
    return call.json(shared.ledger.stats())
  })
  // Only a fault of the sandbox itself comes here: break the connection off rather than pretend an answer.
  app.onError((error, call) => {
    if (error instanceof RequestProblem) return call.json({ error: error.message }, 403)
    call.env.outgoing.destroy()
    return alreadySent()
  })
  app.all(
    '*',
    serve(() => undefined),
  )
}

function addImageRoutes(app: App, shared: Exchanges, serve: Serve): void {
  const store = createImageStore(shared.clock, shared.seed)
  const keeper =
    (call: Call): KeepImage =>
    (id, picture) =>
      originOf(call) + store.keep(id, picture)
  app.post(
    '/v1/images/generations',
    serve((call) => ({
      endpoint: 'image-generations',
      answer: (request) => createImages(request, keeper(call), shared),
    })),
  )
  app.post(
    '/v1/images/edits',
    serve((call) => ({
      endpoint: 'image-edits',
      readContent: (incoming) => readForm(incoming, imageEditEndpoint.fields),
      answer: (request) => editImages(request, keeper(call), shared),
    })),
  )
  app.get(
    '/sandbox/images/:file',
    serve((call) => ({
      endpoint: 'image-files',
      needsNoKey: true,
      answer: (request) => serveImage(request, call.req.param('file') ?? '', store),
    })),
  )
}

/** `{model}:{method}`: the model's name may hold colons itself. */
function actionHandler(call: Call, shared: Exchanges, service: VideoService): Handler | undefined {
  const action = pathPart(call, 'action')
  const colon = action.lastIndexOf(':')
  const [model, method] = [action.slice(0, colon), action.slice(colon + 1)]
  if (model !== '' && method === 'predictLongRunning') return operationHandler(model, service)
  if (model === '' || (method !== 'streamGenerateContent' && method !== 'generateContent')) return undefined
  const streams = method === 'streamGenerateContent'
  return {
    endpoint: 'generate-content',
    model,
    answer: (request) => answerGenerateContent(request, model, streams, shared),
  }
}
