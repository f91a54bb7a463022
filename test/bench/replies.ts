/** Events of a long stream: about 23 MB of them. */
const longEvents = 100_000

/** What each event of a long stream adds to the text. */
const word = 'river '

export const longText = word.repeat(longEvents)
export const shortText = 'Rhine, Danube, Elbe.'

const eventOf = (message: object) => `data: ${JSON.stringify(message)}\n\n`

/** One event in the content-generation style. */
export function contentEvent(text: string, finishReason?: string): string {
  return eventOf({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason, index: 0 }],
    usageMetadata: tokens,
    modelVersion: 'bench-model',
    responseId: 'bench-0123456789abcdef0',
  })
}

const tokens = { promptTokenCount: 7, candidatesTokenCount: 1, totalTokenCount: 8 }
const logprobs = [{ bytes: [114, 105, 118], logprob: -0.125, token: 'river', top_logprobs: [] }]
const safetyRatings = [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }]

/** Messages of a long answer as other gateways send them: the same fields in another order, fewer, and more. */
const otherMessages: readonly (readonly [
  command: 'generate' | 'respond',
  form: string,
  make: (text: string, n: number) => object,
])[] = [
  [
    'generate',
    'no responseId',
    (text) => ({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0 }],
      usageMetadata: tokens,
      modelVersion: 'bench-model',
    }),
  ],
  [
    'generate',
    'another order',
    (text) => ({
      responseId: 'bench-0123456789abcdef0',
      createTime: '2026-11-22T10:00:00.123456Z',
      modelVersion: 'bench-model',
      usageMetadata: { totalTokenCount: 8, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }] },
      candidates: [{ index: 0, avgLogprobs: -0.25, content: { role: 'model', parts: [{ text }] } }],
    }),
  ],
  [
    'generate',
    'safety ratings',
    (text) => {
      const content = { parts: [{ text }], role: 'model' }
      return { candidates: [{ content, finishReason: 'FINISH_REASON_UNSPECIFIED', safetyRatings }] }
    },
  ],
  [
    'respond',
    'alphabetical order',
    (delta, sequence_number) => ({
      content_index: 0,
      delta,
      item_id: 'msg_bench',
      logprobs,
      output_index: 0,
      sequence_number,
      type: 'response.output_text.delta',
    }),
  ],
  ['respond', 'few fields', (delta) => ({ type: 'response.output_text.delta', delta })],
]

/** Long streams of unusual messages, each by the name of a model. */
export const variants = otherMessages.map(([command, form, make]) => {
  return { command, form, make, model: `bench-${command}-${form.replaceAll(' ', '-')}` }
})

/** The bodies of these streams, by the names of models. */
export function variantStreams(): Record<string, string> {
  const completed = { type: 'response.completed', response: { status: 'completed', output: [] } }
  const ends = { generate: contentEvent('', 'STOP'), respond: eventOf(completed) }
  return Object.fromEntries(
    variants.map(({ command, make, model }) => {
      const events = Array.from({ length: longEvents }, (_, n) => eventOf(make(word, n)))
      return [model, events.join('') + ends[command]]
    }),
  )
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
  const added = { delta: word, logprobs: [], obfuscation: 'Xq8' }
  const delta = { type: 'response.output_text.delta', ...place, ...added }
  const done = { type: 'output_text', text: longText, annotations: [], logprobs: [] }
  const finished = { ...item, status: 'completed', content: [done] }
  const usage = { input_tokens: 7, output_tokens: longEvents, total_tokens: longEvents + 7 }
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.content_part.added', ...place, part: { ...done, text: '' } },
    ...Array.from({ length: longEvents }, () => delta),
    { type: 'response.output_text.done', ...place, text: longText, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: done },
    { type: 'response.output_item.done', output_index: 0, item: finished },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [finished], usage } },
  ]
    .map((event, at) => `event: ${event.type}\n${eventOf({ ...event, sequence_number: at })}`)
    .join('')
}
