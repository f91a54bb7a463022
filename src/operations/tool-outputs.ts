import { UsageError } from '../errors.ts'
import { parseJson } from '../files/parse-json.ts'
import { isObject, listOf, objectsOf, stringOf, type JsonObject } from '../json.ts'

export interface ToolOutput {
  /** The id of the call; in the content-generation style also the name of the function. */
  readonly call: string
  readonly text: string
}

/**
 * Input items with what tools returned. A call that the input itself holds is answered by its own kind of item.
 * @param outputs with the kind of call that they are meant for
 * @param isStored whether the calls belong to a response or conversation that the gateway keeps
 * @throws UsageError for a call that is answered twice, or is not in the input although it would have to be
 */
export function toolOutputItems(
  input: unknown,
  outputs: readonly (ToolOutput & { readonly type: string })[],
  isStored: boolean,
): JsonObject[] {
  const calls = objectsOf(input).filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
  const types = new Map(calls.map((item) => [item['call_id'], item['type'] as string]))
  const ids = outputs.map(({ call }) => call)
  checkAsked(ids, isStored ? ids : [...types.keys()])
  return outputs.map(({ call, text, type }) => {
    return { type: `${types.get(call) ?? type}_output`, call_id: call, output: text }
  })
}

/** @throws UsageError as `toolOutputItems` does */
export function checkApprovals(
  input: unknown,
  approvals: readonly { readonly approval_request_id: string }[],
  isStored: boolean,
): void {
  const requests = objectsOf(input).filter(({ type }) => type === 'mcp_approval_request')
  const ids = approvals.map((approval) => approval.approval_request_id)
  checkAsked(ids, isStored ? ids : requests.map(({ id }) => id))
}

function checkAsked(ids: readonly string[], asked: readonly unknown[]): void {
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw answeredTwice(twice)
  const unasked = ids.find((id) => !asked.includes(id))
  if (unasked === undefined) return
  throw new UsageError(`nothing in the input asks for ${JSON.stringify(unasked)}.`, {
    code: 'invalid_request',
    hint: 'Name the response that asks for it with --previous-response-id, or give its items with --history.',
  })
}

/** Answers function calls in their order, those of the last message that has any. @throws UsageError */
export function functionResponses(contents: unknown, outputs: readonly ToolOutput[]): JsonObject {
  const asking = objectsOf(contents).findLast(({ parts }) => callsOf(parts).length > 0)
  const calls = callsOf(asking?.['parts']).map((call) => ({
    id: stringOf(call['id']),
    name: stringOf(call['name']) ?? '',
    text: undefined as string | undefined,
  }))
  for (const { call, text } of outputs) {
    const meant = calls.filter(({ id, name }) => id === call || name === call)
    const open = meant.filter((candidate) => candidate.text === undefined)
    const answered = open.find(({ id }) => id === call) ?? open[0]
    if (answered !== undefined) answered.text = text
    else throw meant.length > 0 ? answeredTwice(call) : notCalled(call, calls)
  }
  const parts = calls.flatMap(({ id, name, text }) =>
    text === undefined ? [] : [functionResponse(id, name, text)],
  )
  return { role: 'user', parts }
}

function callsOf(parts: unknown): JsonObject[] {
  return listOf(parts).flatMap((part) =>
    isObject(part) && isObject(part['functionCall']) ? [part['functionCall']] : [],
  )
}

/** The `response` has to be an object: what is none is put under `output`, as is text. */
function functionResponse(id: string | undefined, name: string, text: string): JsonObject {
  const { value, problem } = parseJson(text)
  const output = problem === undefined ? value : text
  const response = isObject(output) ? output : { output }
  return { functionResponse: { ...(id === undefined ? {} : { id }), name, response } }
}

function answeredTwice(call: string): UsageError {
  return new UsageError(`${JSON.stringify(call)} is answered twice.`)
}

function notCalled(call: string, calls: readonly { id: string | undefined; name: string }[]): UsageError {
  const isEmpty = calls.length === 0
  const names = calls.map(({ id, name }) => (id === undefined ? name : `${name} (${id})`))
  const known = isEmpty ? 'it has no function calls' : `its last calls are ${names.join(', ')}`
  return new UsageError(`nothing in the conversation calls ${JSON.stringify(call)}; ${known}.`, {
    code: 'invalid_request',
    hint: isEmpty ? "Give the conversation, the model's own message included, with --history." : undefined,
  })
}
