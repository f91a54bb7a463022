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
