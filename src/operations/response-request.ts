import { responsesEndpoint as endpoint } from '../contract/responses.ts'
import { UsageError } from '../errors.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import type { Attachment } from './attachments.ts'
import { appendEntries, type Body } from './operation.ts'
import type { TextRequest } from './generate-text.ts'

/** A request of endpoint 2 of the specification. */
export function responseRequest(
  fields: Pick<TextRequest, 'model' | 'body' | 'answerSchema' | 'warnings'>,
): TextRequest {
  const { body, warnings } = fields
  const deprecated = Object.entries(endpoint.fields).flatMap(([name, field]) =>
    field.deprecated !== undefined && body[name] !== undefined
      ? [`--${name} is deprecated; use ${field.deprecated}.`]
      : [],
  )
  // A background response is fetched later, so a gateway has to store it.
  const unstored =
    body['background'] === true && body['store'] === false
      ? ['--no-store: a gateway may refuse it with --background, or not have the answer later.']
      : []
  return {
    ...fields,
    command: 'respond',
    path: endpoint.path,
    streamed: body['stream'] === true,
    warnings: [...warnings, ...deprecated, ...unstored],
    createDecoder: createResponseDecoder,
  }
}

/** Adds the user's message: as plain text when that is all there is, else after the others. @param answers of tools */
export function addInput(
  body: Body,
  attachments: readonly Attachment[],
  prompt: string | undefined,
  answers: readonly unknown[] = [],
): void {
  const { input } = body
  const text = prompt === undefined ? [] : [{ type: 'input_text', text: prompt }]
  const content = [...attachments.map(attachmentContent), ...text]
  const entries = [...answers, ...(content.length === 0 ? [] : [{ role: 'user', content }])]
  if (entries.length === 0) return
  if (typeof input !== 'string') {
    const isText = input === undefined && answers.length === 0 && attachments.length === 0
    if (isText) body['input'] = prompt
    else appendEntries(body, 'input', entries)
  } else if (content.length === 0) body['input'] = [...answers, { role: 'user', content: input }]
  else {
    throw new UsageError(
      '--input is a text already; give either it or a prompt, or make --input an array of messages.',
    )
  }
}

/** The format of an answer that follows a schema. It requires a name: the schema's title, as far as a name can hold it. */
export function schemaFormat(schema: unknown): Body {
  const { title } = schema as { title?: unknown }
  const name = typeof title === 'string' ? title.replaceAll(/[^\w-]+/g, '_').slice(0, 64) : ''
  return { type: 'json_schema', name: name || 'answer', schema }
}

/** See wire notes, section 2, "Input". */
function attachmentContent(attachment: Attachment): unknown {
  const isImage = attachment.mediaType?.startsWith('image/') ?? false
  if (attachment.kind === 'url') {
    const { url } = attachment
    return isImage ? { type: 'input_image', image_url: url } : { type: 'input_file', file_url: url }
  }
  const data = `data:${attachment.mediaType};base64,${attachment.content.toString('base64')}`
  return isImage
    ? { type: 'input_image', image_url: data }
    : { type: 'input_file', filename: attachment.name, file_data: data }
}
