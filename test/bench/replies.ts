/** Events of a long stream: about 23 MB of them. */
const longEvents = 100_000

/** What each event of a long stream adds to the text. */
const word = 'river '

/** The text that a long stream adds up to. */
export const longText = word.repeat(longEvents)

export const shortText = 'Rhine, Danube, Elbe.'

/** One event in the content-generation style. */
export function contentEvent(text: string, finishReason?: string): string {
  const chunk = {
    candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason, index: 0 }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 1, totalTokenCount: 8 },
    modelVersion: 'bench-model',
    responseId: 'bench-0123456789abcdef0',
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** Chunks of a long answer as other gateways send them: the same fields in another order, fewer, and more. */
const otherChunks = {
  'no responseId': (text: string) => ({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0 }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 1, totalTokenCount: 8 },
    modelVersion: 'bench-model',
  }),
  'another order': (text: string) => ({
    responseId: 'bench-0123456789abcdef0',
    createTime: '2026-11-22T10:00:00.123456Z',
    modelVersion: 'bench-model',
    usageMetadata: { totalTokenCount: 8, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }] },
    candidates: [{ index: 0, avgLogprobs: -0.25, content: { role: 'model', parts: [{ text }] } }],
  }),
  'safety ratings': (text: string) => ({
    candidates: [
      {
        content: { parts: [{ text }], role: 'model' },
        finishReason: 'FINISH_REASON_UNSPECIFIED',
        safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }],
      },
    ],
  }),
} as const

/** Events of a long response as other gateways send them. */
const otherDeltas = {
  'alphabetical order': (delta: string, sequence_number: number) => ({
    content_index: 0,
    delta,
    item_id: 'msg_bench',
    logprobs: [{ bytes: [114, 105, 118], logprob: -0.125, token: 'river', top_logprobs: [] }],
    output_index: 0,
    sequence_number,
    type: 'response.output_text.delta',
  }),
  'few fields': (delta: string) => ({ type: 'response.output_text.delta', delta }),
} as const

/** Long streams of unusual messages, by the names of models. */
export const variants = [
  ...Object.keys(otherChunks).map(
    (form) => ({ command: 'generate', form, model: modelOf('chunk', form) }) as const,
  ),
  ...Object.keys(otherDeltas).map(
    (form) => ({ command: 'respond', form, model: modelOf('delta', form) }) as const,
  ),
]

function modelOf(kind: string, form: string): string {
  return `bench-${kind}-${form.replaceAll(' ', '-')}`
}

/** The bodies of these streams, by the names of models. */
export function variantStreams(): Record<string, string> {
  const lines = (messages: readonly unknown[]) =>
    messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('')
  const chunks = Object.entries(otherChunks).map(([form, make]) => [
    modelOf('chunk', form),
    lines(Array.from({ length: longEvents }, () => make(word))) + contentEvent('', 'STOP'),
  ])
  const end = { type: 'response.completed', response: { status: 'completed', output: [] } }
  const deltas = Object.entries(otherDeltas).map(([form, make]) => [
    modelOf('delta', form),
    lines([...Array.from({ length: longEvents }, (_, n) => make(word, n)), end]),
  ])
  return Object.fromEntries([...chunks, ...deltas]) as Record<string, string>
}

export function shortContentStream(): string {
  return contentEvent(shortText.slice(0, 7)) + contentEvent(shortText.slice(7), 'STOP')
}

const markdown = `## A heading with \`code\`

Some **bold words** in a *paragraph* with [a link](https://example.com/page) and snake_case_names.

1. An item with \`code\`
   - and one within it

| a | b |
|---|--:|
| c | 1 |

\`\`\`sh
echo "a line of code" # and a comment
\`\`\`

`
const pieceLength = 4

/** An answer in Markdown, as pieces of a long stream. */
export const markdownPieces = Array.from({ length: longEvents }, (_, index) => {
  const at = (index * pieceLength) % (markdown.length * pieceLength)
  return markdown.repeat(pieceLength).slice(at, at + pieceLength)
})

export function markdownContentStream(): string {
  return markdownPieces
    .map((piece, index) => contentEvent(piece, index === longEvents - 1 ? 'STOP' : undefined))
    .join('')
}

export function longContentStream(): string {
  return contentEvent(word).repeat(longEvents - 1) + contentEvent(word, 'STOP')
}

/** A stream in the response-object style. */
export function longResponseStream(): string {
  const response = {
    id: 'resp_bench',
    object: 'response',
    created_at: 1_760_000_000,
    status: 'in_progress',
    model: 'bench-model',
    output: [] as unknown[],
    error: null,
    incomplete_details: null,
  }
  const item = { id: 'msg_bench', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
  const place = { item_id: item.id, output_index: 0, content_index: 0 }
  const done = { type: 'output_text', text: longText, annotations: [], logprobs: [] }
  const finished = { ...item, status: 'completed', content: [done] }
  const usage = { input_tokens: 7, output_tokens: longEvents, total_tokens: longEvents + 7 }
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.content_part.added', ...place, part: { ...done, text: '' } },
    ...Array.from({ length: longEvents }, () => ({
      type: 'response.output_text.delta',
      ...place,
      delta: word,
      logprobs: [],
      obfuscation: 'Xq8',
    })),
    { type: 'response.output_text.done', ...place, text: longText, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: done },
    { type: 'response.output_item.done', output_index: 0, item: finished },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [finished], usage } },
  ]
    .map((event, index) => {
      return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`
    })
    .join('')
}
