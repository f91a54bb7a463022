export type StyleName = 'generate' | 'respond'

/** How the gateway speaks in one of the two text styles (specification, endpoints 1 and 2). */
export interface TextStyle {
  readonly name: StyleName
  readonly requestLine: string
  /** An event that brings words. */
  delta(text: string): string
  /** The event that ends an answer well. */
  readonly end: string
  /** The event that ends an answer at the token limit. */
  readonly endAtLimit: string
  /** A whole answer as one JSON value. */
  whole(text: string): unknown
  /** An error reply in the style's own envelope. */
  error(status: number, code: string, message: string): unknown
}

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }

const candidate = (text: string, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, finishReason }],
})

const generate: TextStyle = {
  name: 'generate',
  requestLine: 'POST /v1beta/models/some-model:streamGenerateContent?alt=sse HTTP/1.1',
  delta: (text) => event(candidate(text)),
  end: event({ candidates: [{ index: 0, finishReason: 'STOP' }], usageMetadata }),
  endAtLimit: event({ candidates: [{ index: 0, finishReason: 'MAX_TOKENS' }], usageMetadata }),
  whole: (text) => ({ ...candidate(text, 'STOP'), usageMetadata }),
  error: (code, status, message) => ({ error: { code, message, status } }),
}

const message = (text: string) => {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }
}
const response = (status: string, more: object = {}) => {
  return { id: 'resp_1', object: 'response', status, output: [], usage, ...more }
}
const ended = (status: string, more: object = {}) =>
  event({ type: `response.${status}`, response: response(status, more) })

const respond: TextStyle = {
  name: 'respond',
  requestLine: 'POST /v1/responses HTTP/1.1',
  delta: (delta) => event({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
  end: ended('completed'),
  endAtLimit: ended('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
  whole: (text) => response('completed', { output: [message(text)] }),
  error: (_, code, text) => ({ error: { message: text, type: 'some_error', param: null, code } }),
}

export const textStyles: Readonly<Record<StyleName, TextStyle>> = { generate, respond }
