import type { Citation, TextEvent, ToolCall } from '../../contract/text-event.ts'
import { createGrowingText, type GrowingText } from '../growing-text.ts'
import { objectsOf, stringOf, type JsonObject } from '../json-access.ts'
import { readCitation } from './citation.ts'
import { contentParts } from './content-parts.ts'
import { summariseItem } from './item-summary.ts'
import { readToolCall } from './tool-call.ts'

/** What was already shown of one output item: characters of each kind. */
export interface ItemState {
  name: string
  text: number
  refusal: number
  reasoning: number
  done: boolean
}

/** What has been shown of a response so far, and the means to show more, each thing once. */
export interface Transcript {
  readonly text: GrowingText
  readonly refusal: string
  readonly reasoning: string
  readonly citations: readonly Citation[]
  readonly toolCalls: readonly ToolCall[]
  /** Something other than text and reasoning came: a call, an image, another item. */
  readonly otherOutput: boolean
  /** Whether any item has come whole. */
  readonly anyDone: boolean
  /** Items are joined by their position, since their ids may change on the way (quirk 13). */
  itemAt(position: number): ItemState
  addText(item: ItemState, delta: string): void
  addRefusal(item: ItemState, delta: string): void
  addReasoning(item: ItemState, delta: string): void
  addCitation(annotation: unknown): void
  addImage(data: unknown, format: unknown, partial: boolean): void
  /** A whole output item: shows what its deltas have not shown. */
  addItem(whole: JsonObject, position: number): void
  /** Another response begins, whose items are numbered anew. */
  forgetItems(): void
}

export function createTranscript(emit: (event: TextEvent) => void): Transcript {
  const items = new Map<number, ItemState>()
  const toolCalls: ToolCall[] = []
  const citations: Citation[] = []
  const cited = new Set<string>()
  const text = createGrowingText()
  let refusal = ''
  let reasoning = ''
  let otherOutput = false

  const itemAt = (index: number): ItemState => {
    const known = items.get(index)
    if (known !== undefined) return known
    const fresh: ItemState = { name: '', text: 0, refusal: 0, reasoning: 0, done: false }
    items.set(index, fresh)
    return fresh
  }

  const addText = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.text += delta.length
    text.add(delta)
    emit({ type: 'text-delta', index: 0, text: delta })
  }
  const addRefusal = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.refusal += delta.length
    refusal += delta
    emit({ type: 'refusal-delta', text: delta })
  }
  const addReasoning = (item: ItemState, delta: string) => {
    if (delta === '') return
    item.reasoning += delta.length
    reasoning += delta
    emit({ type: 'reasoning-delta', text: delta })
  }
  const addCitation = (annotation: unknown) => {
    const citation = readCitation(annotation)
    if (citation === undefined) return
    const key = JSON.stringify(citation)
    if (cited.has(key)) return
    cited.add(key)
    citations.push(citation)
    emit({ type: 'citation-add', citation })
  }

  const addItem = (whole: JsonObject, position: number) => {
    const state = itemAt(position)
    if (state.done) return
    state.done = true
    const type = stringOf(whole['type'])
    if (type === 'message') return messageItem(whole, state)
    if (type === 'reasoning') return reasoningItem(whole, state)
    otherOutput = true
    const call = readToolCall(whole)
    if (call !== undefined) {
      emit({ type: 'tool-call', index: position, call })
      toolCalls.push(call)
      return
    }
    if (type === 'image_generation_call') addImage(whole['result'], whole['output_format'], false)
    emit({ type: 'item-add', kind: type ?? 'item', summary: summariseItem(whole), item: whole })
  }

  const messageItem = (whole: JsonObject, state: ItemState) => {
    const streamed = state.text + state.refusal > 0
    for (const part of contentParts(whole)) {
      if (!streamed && part['type'] === 'refusal') addRefusal(state, stringOf(part['refusal']) ?? '')
      else if (!streamed) addText(state, stringOf(part['text']) ?? '')
      for (const annotation of objectsOf(part['annotations'])) addCitation(annotation)
    }
  }

  const reasoningItem = (whole: JsonObject, state: ItemState) => {
    if (state.reasoning > 0) return
    const parts = [...objectsOf(whole['summary']), ...objectsOf(whole['content'])]
    addReasoning(state, parts.map((part) => stringOf(part['text']) ?? '').join('\n\n'))
  }

  const addImage = (data: unknown, format: unknown, partial: boolean) => {
    if (typeof data !== 'string' || data === '') return
    if (!partial) otherOutput = true
    emit({ type: 'image-data', mime_type: `image/${stringOf(format) ?? 'png'}`, base64: data, partial })
  }

  return {
    text,
    citations,
    toolCalls,
    get refusal() {
      return refusal
    },
    get reasoning() {
      return reasoning
    },
    get otherOutput() {
      return otherOutput
    },
    get anyDone() {
      return [...items.values()].some(({ done }) => done)
    },
    itemAt,
    addText,
    addRefusal,
    addReasoning,
    addCitation,
    addImage,
    addItem,
    forgetItems: () => items.clear(),
  }
}
