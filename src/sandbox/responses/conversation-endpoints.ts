import { responsesEndpoint } from '../../contract/responses.ts'
import type { Fields } from '../../contract/field.ts'
import { assertValid, RequestProblem } from '../http/request-problem.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import { type JsonObject, objectOf, objectsOf } from '../json-value.ts'
import type { SandboxRequest } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { checkItems, checkMetadata } from './check-request.ts'
import type { Conversation } from './conversation-store.ts'
import type { ResponseService } from './create-response.ts'
import { listItems } from './input-items.ts'

/** At most so many items are added at a time. */
const maxAdded = 20
const fields: Fields = {
  items: { type: 'array', about: '', nullable: true, maxLength: maxAdded },
  metadata: { type: 'object', about: '', nullable: true },
}

/**
 * `POST /v1/conversations`: what the field `conversation` of a response can name. A response may name any other, too.
 * @throws RequestProblem 400
 */
export async function createConversation(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const items = itemsOf(request)
  const { seed, store, clock } = service
  const id = `conv_${seededHex(48, seed, 'conversations', request.number, clock.now())}`
  const conversations = await store.conversations()
  conversations.add(id, items, request.size)
  conversations.setMetadata(id, objectOf(request.body['metadata']))
  return jsonReply(conversationObject(id, conversations.find(id)!), { creates: true })
}

/** `GET /v1/conversations/{id}` */
export async function getConversation(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { id, conversation } = await knownConversation(request, service)
  return jsonReply(conversationObject(id, conversation))
}

/** `POST /v1/conversations/{id}`: replaces its metadata. */
export async function updateConversation(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { id, conversation, conversations } = await knownConversation(request, service)
  itemsOf(request)
  const metadata = objectOf(request.body['metadata'])
  conversations.setMetadata(id, metadata)
  return jsonReply(conversationObject(id, { ...conversation, metadata }))
}

/** `DELETE /v1/conversations/{id}` */
export async function deleteConversation(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { id, conversations } = await knownConversation(request, service)
  conversations.remove(id)
  return jsonReply({ id, object: 'conversation.deleted', deleted: true })
}

/** `GET /v1/conversations/{id}/items`, in pages, newest first or in their order. */
export async function listConversationItems(
  request: SandboxRequest,
  service: ResponseService,
): Promise<Reply> {
  const { id, conversation } = await knownConversation(request, service)
  return jsonReply(listItems(conversation.items, { seed: id, query: request.query }))
}

/** `POST /v1/conversations/{id}/items` */
export async function addConversationItems(
  request: SandboxRequest,
  service: ResponseService,
): Promise<Reply> {
  const { id, conversations } = await knownConversation(request, service)
  const added = conversations.add(id, itemsOf(request), request.size)
  const query = new URLSearchParams({ order: 'asc', limit: String(maxAdded) })
  return jsonReply(listItems(added, { seed: id, query }), { creates: true })
}

/** `GET /v1/conversations/{id}/items/{item}` */
export async function getConversationItem(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { id, item } = await knownItem(request, service)
  const { data } = listItems([item], { seed: id, query: request.query })
  return jsonReply(objectsOf(data)[0]!)
}

/** `DELETE /v1/conversations/{id}/items/{item}`; answers with the conversation. */
export async function deleteConversationItem(
  request: SandboxRequest,
  service: ResponseService,
): Promise<Reply> {
  const { id, conversation, conversations } = await knownItem(request, service)
  conversations.removeItem(id, request.params['item']!)
  return jsonReply(conversationObject(id, conversation))
}

function itemsOf({ body, budget }: SandboxRequest): readonly JsonObject[] {
  assertValid({ ...responsesEndpoint, fields, rules: [] }, body)
  checkItems(body['items'], 'items', budget)
  checkMetadata(objectOf(body['metadata']))
  return objectsOf(body['items'])
}

async function knownConversation({ params }: SandboxRequest, { store }: ResponseService) {
  const id = params['id']!
  const conversations = await store.conversations()
  const conversation = conversations.find(id)
  if (conversation === undefined) throw new RequestProblem(404, `Conversation with id '${id}' not found.`)
  return { id, conversation, conversations }
}

async function knownItem(request: SandboxRequest, service: ResponseService) {
  const known = await knownConversation(request, service)
  const id = request.params['item']!
  const item = known.conversation.items.find((candidate) => candidate['id'] === id)
  if (item === undefined) throw new RequestProblem(404, `Item with id '${id}' not found.`)
  return { ...known, item }
}

function conversationObject(id: string, { createdAt, metadata }: Conversation): JsonObject {
  return { id, object: 'conversation', created_at: createdAt, metadata }
}
