import { RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import { streamReply } from './create-response.ts'
import type { ResponseStore, StoredResponse } from './response-store.ts'

/** `GET /v1/responses/{id}`, with `?stream=true&starting_after=N` the rest of its stream. */
export function getResponse({ query }: SandboxRequest, id: string, store: ResponseStore): Reply {
  const { plan } = stored(id, store)
  if (query.get('stream') !== 'true') return jsonReply(store.current(id))
  const after = Number(query.get('starting_after') ?? -1)
  if (!Number.isInteger(after)) {
    throw new RequestProblem(400, "Invalid 'starting_after': must be a whole number.", {
      param: 'starting_after',
    })
  }
  return { ...streamReply(plan, after), creates: false }
}

/** `POST /v1/responses/{id}/cancel`: for background responses; one that has ended stays as it is. */
export function cancelResponse(id: string, store: ResponseStore): Reply {
  if (stored(id, store).plan.body['background'] !== true) {
    throw new RequestProblem(400, 'Cannot cancel a synchronous response.')
  }
  store.cancel(id)
  return jsonReply(store.current(id))
}

/** `DELETE /v1/responses/{id}` */
export function deleteResponse(id: string, store: ResponseStore): Reply {
  stored(id, store)
  store.remove(id)
  return jsonReply({ id, object: 'response', deleted: true })
}

function stored(id: string, store: ResponseStore): StoredResponse {
  const found = store.find(id)
  if (found === undefined) throw new RequestProblem(404, `Response with id '${id}' not found.`)
  return found
}
