import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectsOf, textOf } from '../json-value.ts'
import type { ResponseStore } from './response-store.ts'

/** `input` (and `prompt`, where there is no input) as a list of items. */
export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

/**
 * The input with every reference replaced by the item that it names: of the conversation so far, or of another stored
 * response.
 * @throws RequestProblem 404 for an item that is not known
 */
export function resolveReferences(
  input: readonly JsonObject[],
  earlier: readonly JsonObject[],
  store: ResponseStore,
): readonly JsonObject[] {
  const items: JsonObject[] = []
  const known = new Map(earlier.map((item) => [item['id'], item]))
  for (const item of input) {
    const { id, type, role } = item
    const isReference = type === 'item_reference' || (type == null && role === undefined)
    if (!isReference) {
      items.push(item)
      continue
    }
    const found = known.get(id) ?? store.findItem(textOf(id))
    if (found === undefined) {
      throw new RequestProblem(
        404,
        `Item with id '${textOf(id).slice(0, 100)}' not found. Items are not persisted when \`store\` is set to false.`,
        { param: 'input' },
      )
    }
    // An item that the conversation contains already is not repeated.
    if (!known.has(id)) items.push(found)
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
