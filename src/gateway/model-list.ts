import { ContractError, ModelgateError } from '../errors.ts'
import { countOf, isObject, listOf, objectOf, stringOf, type JsonObject } from '../json.ts'
import type { ModelEntry } from '../events/model.ts'
import type { Gateway, GatewayRequest } from './gateway.ts'
import { replyError } from './gateway-errors.ts'
import { requestJson } from './request-json.ts'
import { lookUpRequest } from './send-request.ts'
import type { Roots } from './url.ts'

/** What a gateway leaves out is null. */
export interface ListedModel {
  readonly id: string
  /** The methods are in Google's form only: `generateContent`, `predictLongRunning`. */
  readonly listed: NonNullable<ModelEntry['listed']>
}

/** OpenAI's list, then Google's: neither is in the specification, and a gateway may have only one. */
const paths = ['/v1/models', '/v1beta/models'] as const
const maxPages = 100

export function modelListRequest(roots: Roots): GatewayRequest {
  return lookUpRequest(roots, paths[0])
}

/**
 * Asks for all models, page by page.
 * @returns them in the gateway's order, each id once; `isCut`: there are more pages than are fetched
 * @throws ModelgateError 4 where none are listed, 8 for a reply that is no list
 */
export async function fetchModels(gateway: Gateway, onPage?: (text: string) => void) {
  try {
    return await fetchPages(gateway, paths[0], onPage)
  } catch (error) {
    if (!isMissing(error)) throw error
    return await fetchPages(gateway, paths[1], onPage).catch((other: unknown) => {
      throw isMissing(other)
        ? other.amend({ message: 'The gateway does not list its models.', hint: null })
        : other
    })
  }
}

export function isMissing(error: unknown): error is ModelgateError {
  return error instanceof ModelgateError && [404, 405, 501].includes(error.facts.httpStatus ?? 0)
}

async function fetchPages(gateway: Gateway, path: string, onPage?: (text: string) => void) {
  const models = new Map<string, ListedModel>()
  let next: Readonly<Record<string, string>> | undefined
  let requestId: string | null = null
  for (let page = 0; page < maxPages; page++) {
    const request = lookUpRequest(gateway, path, next)
    const reply = await requestJson(gateway, request, { convert: (whole) => whole })
    onPage?.(reply.text)
    requestId = reply.requestId
    const before = models.size
    for (const model of modelsOf(reply.value)) if (!models.has(model.id)) models.set(model.id, model)
    next = nextPage(objectOf(reply.value))
    // A gateway that ignores the name of the page would send the same one for ever.
    if (next === undefined || models.size === before) break
  }
  return { models: [...models.values()], requestId, isCut: next !== undefined && models.size > 0 }
}

function modelsOf(value: unknown): ListedModel[] {
  const { error, data, models } = objectOf(value)
  const entries = Array.isArray(value) ? value : (data ?? models)
  if (!Array.isArray(entries)) {
    if (error) throw replyError(value).amend({ exit: 'later', billed: 'no', hint: 'Run it again later.' })
    throw new ContractError('reply_not_understood', 'The reply contains no list of models.')
  }
  return entries.flatMap((entry: unknown) => modelOf(isObject(entry) ? entry : { id: entry }) ?? [])
}

function modelOf(entry: JsonObject): ListedModel | undefined {
  // Google's names begin with the collection.
  const id = stringOf(entry['id']) || stringOf(entry['name'])?.replace(/^models\//, '')
  if (!id) return undefined
  return {
    id,
    listed: {
      name: stringOf(entry['displayName']) || stringOf(entry['display_name']) || null,
      owner: stringOf(entry['owned_by']) || null,
      // Gateways that do not know send 0.
      created_at: countOf(entry['created']) || null,
      input_tokens: countOf(entry['inputTokenLimit']),
      output_tokens: countOf(entry['outputTokenLimit']),
      methods: listOf(entry['supportedGenerationMethods']).filter((method) => typeof method === 'string'),
    },
  }
}

/** Google's token, or OpenAI's last id. */
function nextPage(page: JsonObject): Readonly<Record<string, string>> | undefined {
  const token = stringOf(page['nextPageToken'])
  if (token) return { pageToken: token }
  const last = stringOf(page['last_id'])
  return page['has_more'] === true && last ? { after: last } : undefined
}
