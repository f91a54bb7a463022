import type { Citation, TextEvent, ToolCall, Usage } from '../../events/text.ts'
import { maxMessageCharacters } from '../message-reader.ts'
import { createGrowingText, type GrowingText } from '../../growing-text.ts'
import { tooLarge } from '../reply-errors.ts'
import { objectsOf, stringOf, type JsonObject, countOf, isObject, objectOf, tryJson } from '../../json.ts'
import { outputItemKinds } from '../../contract/response-object.ts'

const untouched = () => ({
  /** How many characters of each kind have been emitted. */
  text: 0,
  refusal: 0,
  reasoning: 0,
  /** Of a tool call, as they have arrived so far. */
  arguments: createGrowingText(),
  /** The item as announced, until it is complete. */
  begun: undefined as JsonObject | undefined,
})

type ItemState = ReturnType<typeof untouched> & { done: JsonObject | undefined }

/** Each thing is emitted once, however often the gateway sends it. */
export class Transcript {
  readonly text: GrowingText
  readonly refusal: GrowingText
  readonly reasoning: GrowingText
  readonly toolCalls: ToolCall[] = []
  readonly citations: Citation[] = []
  /** A call, an image, another item. */
  otherOutput = false
  readonly #emit: (event: TextEvent) => void
  readonly #isRest: boolean
  readonly #items = new Map<number, ItemState>()
  readonly #cited = new Set<string>()

  /**
   * @param keep how many characters of each text are wanted
   * @param isRest whether the text of an item that was not announced was streamed before
   */
  constructor(emit: (event: TextEvent) => void, keep: number, isRest: boolean) {
    this.#emit = emit
    this.#isRest = isRest
    this.text = createGrowingText(keep)
    this.refusal = createGrowingText(keep)
    this.reasoning = createGrowingText(keep)
  }

  get anyDone(): boolean {
    return [...this.#items.values()].some(({ done }) => done !== undefined)
  }

  get items(): readonly unknown[] {
    const done = [...this.#items].toSorted(([one], [other]) => one - other)
    return done.flatMap(([, item]) => item.done ?? [])
  }

  forgetItems(): void {
    this.#items.clear()
  }

  /** Items are joined by their position, since their ids may change on the way (quirk 13). */
  itemAt(index: number): ItemState {
    const known = this.#items.get(index)
    if (known !== undefined) return known
    const fresh: ItemState = { ...untouched(), done: undefined }
    this.#items.set(index, fresh)
    return fresh
  }

  beginItem(item: JsonObject, position: number): void {
    // The arguments of an earlier item at this position are no longer needed.
    Object.assign(this.itemAt(position), { arguments: createGrowingText(), begun: item })
  }

  /** Calls that have begun and will not come whole: what has arrived is all there is. */
  endCalls(): void {
    for (const [position, { begun }] of this.#items) {
      if (begun !== undefined && readToolCall(begun) !== undefined) this.addItem(begun, position)
    }
  }

  addText(item: ItemState, delta: string): void {
    if (delta === '') return
    item.text += delta.length
    this.text.add(delta)
    this.#emit({ type: 'text-delta', index: 0, text: delta })
  }

  add(kind: 'refusal' | 'reasoning', item: ItemState, delta: string): void {
    if (delta === '') return
    item[kind] += delta.length
    this[kind].add(delta)
    this.#emit({ type: `${kind}-delta`, text: delta })
  }

  /** @throws ContractError when they are larger than a message may be */
  addArguments(item: ItemState, delta: string): void {
    item.arguments.add(delta)
    if (item.arguments.length > maxMessageCharacters) throw tooLarge(maxMessageCharacters)
  }

  setArguments(item: ItemState, whole: string | undefined): void {
    if (whole === undefined) return
    item.arguments = createGrowingText()
    item.arguments.add(whole)
  }

  addCitation(annotation: unknown): void {
    const citation = readCitation(annotation)
    if (citation === undefined) return
    const key = JSON.stringify(citation)
    if (this.#cited.has(key)) return
    this.#cited.add(key)
    this.citations.push(citation)
    this.#emit({ type: 'citation-add', citation })
  }

  addImage(data: unknown, format: unknown, partial: boolean): void {
    if (typeof data !== 'string' || data === '') return
    if (!partial) this.otherOutput = true
    this.#emit({ type: 'image-data', mime_type: `image/${stringOf(format) ?? 'png'}`, base64: data, partial })
  }

  /** Emits what its deltas did not contain. */
  addItem(whole: JsonObject, position: number): void {
    const item = this.itemAt(position)
    const { done } = item
    if (done !== undefined && ['type', 'id', 'call_id'].every((name) => done[name] === whole[name])) return
    // What follows belongs to another item: some gateways give all items the same position.
    const state = { ...item }
    Object.assign(item, untouched(), { done: whole })
    const type = stringOf(whole['type'])
    const isShown = this.#isRest && state.begun === undefined
    if (isAnswer(whole)) return this.#addAnswer(whole, state, isShown)
    if (type === 'reasoning') {
      if (isShown || state.reasoning > 0) return
      const parts = [...objectsOf(whole['summary']), ...objectsOf(whole['content'])]
      return this.add('reasoning', state, parts.map((part) => stringOf(part['text']) ?? '').join('\n\n'))
    }
    this.otherOutput = true
    const call = readToolCall(whole, state.arguments.toString())
    if (call !== undefined) {
      this.#emit({ type: 'tool-call', index: position, call })
      this.toolCalls.push(call)
      return
    }
    if (type === 'image_generation_call') this.addImage(whole['result'], whole['output_format'], false)
    this.#emit({ type: 'item-add', kind: type ?? 'item', summary: summariseItem(whole), item: whole })
  }

  #addAnswer(whole: JsonObject, state: ItemState, isShown: boolean): void {
    const streamed = isShown || state.text + state.refusal > 0
    for (const part of contentParts(whole)) {
      if (!streamed && part['type'] === 'refusal') {
        this.add('refusal', state, stringOf(part['refusal']) ?? '')
      } else if (!streamed) this.addText(state, answerText(part))
      for (const annotation of objectsOf(part['annotations'])) this.addCitation(annotation)
    }
  }
}

function readCitation(annotation: unknown): Citation | undefined {
  if (!isObject(annotation)) return undefined
  const url = stringOf(annotation['url']) ?? null
  const fileId = stringOf(annotation['file_id']) ?? null
  const title = stringOf(annotation['title']) ?? stringOf(annotation['filename']) ?? fileId
  if (url === null && title === null) return undefined
  return {
    url,
    title,
    start: countOf(annotation['start_index']),
    end: countOf(annotation['end_index']),
    license: stringOf(annotation['license']) || null,
    file_id: fileId,
  }
}

/** Unknown kinds are named by their `type`. */
function summariseItem(item: JsonObject): string {
  const type = stringOf(item['type']) ?? 'item'
  const name = Object.hasOwn(outputItemKinds, type) ? outputItemKinds[type]! : type
  const details = Object.hasOwn(detailsOf, type) ? detailsOf[type]!(item, objectOf(item['action'])) : ''
  const status = stringOf(item['status'])
  const state = status === undefined || status === 'completed' ? '' : ` (${status})`
  return details === '' ? `${name}${state}` : `${name}: ${details}${state}`
}

const detailsOf: Readonly<Record<string, (item: JsonObject, action: JsonObject) => string>> = {
  web_search_call: (_, action) => searchText(action) ?? stringOf(action['url']) ?? '',
  file_search_call: (item) => strings(item['queries']).join('; '),
  code_interpreter_call: (item) => stringOf(item['code'])?.split('\n', 1)[0] ?? '',
  local_shell_call: (_, action) => strings(action['command']).join(' '),
  shell_call: (_, action) => strings(action['commands']).join('; '),
  // The preview of the tool has one action, its successor a list.
  computer_call: (item, action) =>
    strings([action, ...objectsOf(item['actions'])].map((one) => one['type'])).join('; '),
  mcp_list_tools(item) {
    const [label, error] = [stringOf(item['server_label']) ?? '', stringOf(item['error'])]
    return `${label}${error ? `: ${error}` : ` offers ${objectsOf(item['tools']).length} tools`}`.trim()
  },
  mcp_call: remoteTool,
  mcp_approval_request(item) {
    const [call, id] = [stringOf(item['arguments']), stringOf(item['id'])]
    // The answer names the request by its id.
    return `${remoteTool(item)}${call ? `(${call})` : ''}${id ? `, id ${id}` : ''}`
  },
  custom_tool_call: (item) => stringOf(item['name']) ?? '',
}

function remoteTool(item: JsonObject): string {
  return strings([item['server_label'], item['name']]).filter(Boolean).join('.')
}

function searchText(action: JsonObject): string | undefined {
  const queries = strings(action['queries'])
  return queries.length > 0 ? queries.join('; ') : stringOf(action['query'])
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : []
}

/** A call of the caller's own tools. @param streamed the arguments in pieces, for an item that leaves them out */
function readToolCall(item: JsonObject, streamed = ''): ToolCall | undefined {
  const type = item['type']
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined
  const given = type === 'function_call' ? item['arguments'] : item['input']
  const text = stringOf(given) || streamed
  const parsed = type === 'function_call' ? tryJson(text) : undefined
  return {
    type: type === 'function_call' ? 'function' : 'custom',
    id: stringOf(item['call_id']) ?? stringOf(item['id']) ?? null,
    name: stringOf(item['name']) ?? '',
    arguments: isObject(given) ? given : parsed === undefined ? text : parsed,
  }
}

/** Whether an output item is a message of the assistant: some leave the type out, and some repeat the question. */
export function isAnswer({ type, role, content }: JsonObject): boolean {
  const isMessage = type === 'message' || (type === undefined && content !== undefined)
  return isMessage && (typeof role !== 'string' || role === 'assistant')
}

/** The content of a message; plain text, as messages of the input may have it, is one part. */
export function contentParts({ content }: JsonObject): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : objectsOf(content)
}

const otherPartTypes = new Set<unknown>(['refusal', 'reasoning_text', 'summary_text', 'input_text'])

/** Empty for other parts. */
export function answerText(part: JsonObject): string {
  return otherPartTypes.has(part['type']) ? '' : (stringOf(part['text']) ?? '')
}

export function readResponseUsage(value: unknown): Usage | null {
  if (!isObject(value)) return null
  return {
    input_tokens: countOf(value['input_tokens']),
    cached_tokens: countOf(objectOf(value['input_tokens_details'])['cached_tokens']),
    output_tokens: countOf(value['output_tokens']),
    reasoning_tokens: countOf(objectOf(value['output_tokens_details'])['reasoning_tokens']),
    total_tokens: countOf(value['total_tokens']),
  }
}
