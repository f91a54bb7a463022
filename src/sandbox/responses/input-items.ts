import type { Budget } from '../budget.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'
import type { ResponseStore, StoredResponse } from './response-store.ts'

/** `input` (and `prompt`, where there is no input) as a list of items. */
export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

/** The cost of finding one item among those that are stored. */
const costOfSearch = 1000

/**
 * The input with every reference replaced by the item that it names: of the conversation so far, or of another stored
 * response.
 * @throws RequestProblem 404 for an item that is not known
 */
export function resolveReferences(
  input: readonly JsonObject[],
  earlier: readonly JsonObject[],
  { store, budget }: { readonly store: ResponseStore; readonly budget: Budget },
): readonly JsonObject[] {
  const items: JsonObject[] = []
  for (const item of input) {
    const { id, type, role } = item
    const isReference = type === 'item_reference' || (type == null && role === undefined)
    if (!isReference) {
      items.push(item)
      continue
    }
    budget.spend(costOfSearch)
    const found = earlier.find((known) => known['id'] === id) ?? store.findItem(textOf(id))
    if (found === undefined) {
      throw new RequestProblem(
        404,
        `Item with id '${textOf(id).slice(0, 100)}' not found. Items are not persisted when \`store\` is set to false.`,
        { param: 'input' },
      )
    }
    // An item that the conversation contains already is not repeated.
    if (!earlier.includes(found)) items.push(found)
  }
  return items
}

/** The kinds of calls that the caller answers, and the kind of item that answers them. */
const answeredCalls: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  computer_call: 'computer_call_output',
  local_shell_call: 'local_shell_call_output',
  shell_call: 'shell_call_output',
}

/**
 * Every call of the caller's own tools has its output, and every output its call, as in public practice.
 * @throws RequestProblem 400
 */
export function checkCalls(items: readonly JsonObject[]): void {
  const open = new Map<string, string>()
  const known = new Map<string, string>()
  const outputs = new Set(Object.values(answeredCalls))
  for (const item of items) {
    const type = textOf(item['type'])
    const callId = textOf(item['call_id'])
    const output = answeredCalls[type]
    if (output !== undefined) {
      open.set(`${output} ${callId}`, callId)
      known.set(`${output} ${callId}`, callId)
      // The output of a local shell may name its call by the id of the item.
      if (type === 'local_shell_call') known.set(`${output} ${textOf(item['id'])}`, callId)
    }
    if (!outputs.has(type)) continue
    const name = callId || textOf(item['id'])
    const call = known.get(`${type} ${name}`)
    if (call === undefined) {
      const what = type.replaceAll('_', ' ')
      throw unanswered(`No tool call found for ${what} with call_id ${name.slice(0, 100)}.`)
    }
    open.delete(`${type} ${call}`)
  }
  for (const callId of open.values()) {
    throw unanswered(`No tool output found for the call ${callId.slice(0, 100)}.`)
  }
}

function unanswered(message: string): RequestProblem {
  return new RequestProblem(400, message, { param: 'input' })
}

/** The items that a stored response read, with an id each, newest first or in their order. */
export function listInputItems({ plan, context }: StoredResponse, query: URLSearchParams): JsonObject {
  return listItems(context, { seed: plan.id, query, include: textsOf(plan.body['include']) })
}

/** A page of items: `limit` of them behind the one called `after`, newest first unless `order` is `asc`. */
export function listItems(
  all: readonly JsonObject[],
  {
    seed,
    query,
    include = [],
  }: { readonly seed: string; readonly query: URLSearchParams; readonly include?: readonly string[] },
): JsonObject {
  const extras = [...include, ...query.getAll('include'), ...query.getAll('include[]')]
  const items = itemsWithIds(all, seed, extras)
  const ordered: readonly JsonObject[] = query.get('order') === 'asc' ? items : items.toReversed()
  const after = ordered.findIndex((item) => item['id'] === query.get('after'))
  const limit = Math.min(100, Math.max(1, Number(query.get('limit') ?? 20) || 20))
  const data = ordered.slice(after + 1, after + 1 + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: after + 1 + limit < ordered.length,
  }
}

/**
 * Items as they are listed.
 * @param seed of the ids of those that have none
 * @param extras as in `include`
 */
export function itemsWithIds(
  items: readonly JsonObject[],
  seed: string,
  extras: readonly string[],
): readonly JsonObject[] {
  return items.map((item, index) => {
    const type = textOf(item['type']) || 'message'
    const id = item['id'] ?? `${type === 'message' ? 'msg' : 'item'}_${seededHex(48, seed, 'input', index)}`
    return { id, type, ...listed({ ...item, type }, extras) }
  })
}

/** An item as it is listed: texts as parts, URLs of pictures only if `include` asks for them (specification). */
function listed(item: JsonObject, extras: readonly string[]): JsonObject {
  const { type, role, content, output } = item
  const hide = (part: JsonObject) => ('image_url' in part ? { ...part, image_url: null } : part)
  if (type === 'computer_call_output') {
    const isAsked = extras.includes('computer_call_output.output.image_url')
    return isAsked ? item : { ...item, output: hide(objectOf(output)) }
  }
  if (type !== 'message') return item
  if (typeof content === 'string') {
    const part = { type: role === 'assistant' ? 'output_text' : 'input_text', text: content }
    return { ...item, content: [part] }
  }
  const isAsked = extras.includes('message.input_image.image_url')
  return isAsked ? item : { ...item, content: objectsOf(content).map(hide) }
}
