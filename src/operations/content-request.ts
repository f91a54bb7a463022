import { generateContentEndpoint as endpoint } from '../contract/generate-content.ts'
import { createContentDecoder } from '../gateway/generate-content/decoder.ts'
import { isObject, type JsonObject } from '../json.ts'
import { modelSegment } from '../gateway/url.ts'
import type { Attachment } from './attachments.ts'
import { appendEntries, type Body } from './operation.ts'
import type { TextRequest } from './generate-text.ts'

/** A request of endpoint 1 of the specification. @throws UsageError for a model that cannot be a part of a path */
export function contentRequest(
  fields: Pick<TextRequest, 'body' | 'answerSchema' | 'warnings'> & { readonly model: string },
): TextRequest {
  return {
    ...fields,
    command: 'generate',
    path: endpoint.path.replace('{model}', modelSegment(fields.model)),
    // Without `alt=sse` the reply is one JSON array (wire notes, section 1); the gateway may ignore it.
    query: { alt: 'sse' },
    streamed: true,
    createDecoder: createContentDecoder,
  }
}

/** Adds the user's message, with attachments before the text as the public documents recommend. */
export function addMessage(body: Body, attachments: readonly Attachment[], prompt: string | undefined): void {
  const parts = [...attachments.map(attachmentPart), ...(prompt === undefined ? [] : [{ text: prompt }])]
  if (parts.length === 0) return
  appendEntries(body, 'contents', [{ role: 'user', parts }])
}

/** See wire notes, section 1, "Part kinds". */
function attachmentPart(attachment: Attachment): unknown {
  if (attachment.kind === 'file') {
    return { inlineData: { mimeType: attachment.mediaType, data: attachment.content.toString('base64') } }
  }
  const { url, mediaType } = attachment
  return { fileData: { ...(mediaType === undefined ? {} : { mimeType: mediaType }), fileUri: url } }
}

/** Adds safety settings, replacing existing ones for the same category. */
export function addSafety(body: Body, settings: readonly JsonObject[]): void {
  const given = new Set<unknown>(settings.map(({ category }) => category))
  const before = body['safetySettings']
  if (Array.isArray(before)) {
    body['safetySettings'] = before.filter((entry) => !isObject(entry) || !given.has(entry['category']))
  }
  appendEntries(body, 'safetySettings', settings)
}
