import { countTokens, mediaTokens, textOfParts } from '../answer/answer.ts'
import { RequestProblem } from '../http/request-problem.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json-value.ts'
import { contextWindowOf } from '../sandbox-models.ts'

export function inputItems({ input, prompt }: JsonObject): readonly JsonObject[] {
  if (Array.isArray(input)) return objectsOf(input)
  const text = typeof input === 'string' ? input : textOf(prompt)
  return text === '' ? [] : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
}

/** The input with every reference replaced by the item of the conversation or of a stored response that it names. */
export function resolveReferences(
  input: readonly JsonObject[],
  earlier: readonly JsonObject[],
  findStored: (id: string) => JsonObject | undefined,
): readonly JsonObject[] {
  const known = new Map(earlier.map((item) => [item['id'], item]))
  return input.flatMap((item) => {
    const { id, type, role } = item
    if (type !== 'item_reference' && (type != null || role !== undefined)) return [item]
    // An item that the conversation contains already is not repeated.
    if (known.has(id)) return []
    const found = findStored(textOf(id))
    if (found !== undefined) return [found]
    const shown = textOf(id).slice(0, 100)
    const message = `Item with id '${shown}' not found. Items are not persisted when \`store\` is set to false.`
    throw new RequestProblem(404, message, { param: 'input' })
  })
}

/** Every call of the caller's own tools has its output, and every output its call, as in public practice. */
export function checkCalls(items: readonly JsonObject[]): void {
  const wrong = (message: string) => new RequestProblem(400, message, { param: 'input' })
  /** The calls without an output, and all calls, by their kind and what an output names them by. */
  const open = new Map<string, string>()
  const known = new Map<string, string>()
  for (const item of items) {
    const pattern = /^((?:function|custom_tool|computer|local_shell)_call)(_output)?$/
    const [type, kind, isOutput] = pattern.exec(textOf(item['type'])) ?? []
    const [callId, id] = [textOf(item['call_id']), textOf(item['id'])]
    if (type === undefined) continue
    if (!isOutput) {
      open.set(`${kind} ${callId}`, callId)
      known.set(`${kind} ${callId}`, callId)
      // The output of a local shell may name its call by the id of the item.
      if (kind === 'local_shell_call') known.set(`${kind} ${id}`, callId)
      continue
    }
    const name = callId || id
    const call = known.get(`${kind} ${name}`)
    if (call !== undefined) open.delete(`${kind} ${call}`)
    else
      throw wrong(`No tool call found for ${type.replaceAll('_', ' ')} with call_id ${name.slice(0, 100)}.`)
  }
  for (const callId of open.values())
    throw wrong(`No tool output found for the call ${callId.slice(0, 100)}.`)
}

export function promptsOf(items: readonly JsonObject[]): readonly string[] {
  return items
    .filter(({ role }) => role === 'user')
    .map(({ content }) => (typeof content === 'string' ? content : textOfParts(content)))
}

export function lastOutputs(items: readonly JsonObject[]): readonly JsonObject[] {
  const answerTypes = /^(\w+_call_output|mcp_approval_response)$/
  return items.slice(items.findLastIndex(({ type }) => !answerTypes.test(textOf(type))) + 1)
}

/** The output of a call in words: its text, or what kind of picture or file it is. */
export function describeOutput(output: unknown): string {
  if (typeof output === 'string') return output
  const parts = Array.isArray(output) ? objectsOf(output) : [objectOf(output)]
  const words = parts.map(({ type, text }) =>
    typeof text === 'string' ? text : textOf(type).replace(/^(input|computer)_/, 'a '),
  )
  return words.join(' ')
}

/** Fields that hold a picture or a file in items other than messages. */
const mediaFields = new Set(['image_url', 'file_data', 'result'])

/** Tokens of an item: of its texts and media, or of the whole item as JSON. The model reads no ids. */
function countItem(item: JsonObject): number {
  const { content } = item
  if (typeof content === 'string') return countTokens(content)
  if (!Array.isArray(content)) {
    const media = ' '.repeat(mediaTokens * 4)
    const replaced = (name: string, value: unknown) =>
      mediaFields.has(name) && typeof value === 'string' ? media : value
    return countTokens(JSON.stringify({ ...item, id: undefined }, replaced))
  }
  return objectsOf(content).reduce((sum, { type, text, refusal }) => {
    const isMedia = text === undefined && textOf(type).startsWith('input_')
    return sum + (isMedia ? mediaTokens : countTokens(textOf(text ?? refusal)))
  }, 0)
}

/** Makes the input fit the context window; `truncation: auto` drops items from its start (specification, endpoint 2). */
export function fitContext(
  items: readonly JsonObject[],
  { model, instructions, tools, truncation }: JsonObject,
) {
  const window = contextWindowOf(textOf(model))
  const fixed =
    countTokens(textOf(instructions)) + countTokens(tools === undefined ? '' : JSON.stringify(tools))
  const sizes = items.map(countItem)
  let tokens = sizes.reduce((sum, size) => sum + size, fixed)
  let dropped = 0
  if (truncation === 'auto') {
    while (tokens > window && dropped < items.length - 1) tokens -= sizes[dropped++]!
  }
  if (tokens > window) {
    const message = `Your input exceeds the context window of this model: ${tokens} tokens, and it reads ${window}.`
    throw new RequestProblem(400, message, { param: 'input', code: 'context_length_exceeded' })
  }
  return { items: items.slice(dropped), tokens }
}
