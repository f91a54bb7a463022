import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Attachment } from '../shared/attachments.ts'
import { parseJsonFileFlag } from '../shared/json-value.ts'
import { appendEntries, type Body } from '../shared/request-body.ts'

/**
 * The earlier messages of `--history` (JSON, `@file`, `@-` or a bare file name): an array of contents, or an object that holds one under `contents`.
 * @throws UsageError when it is neither
 */
export async function readHistory(context: Context, text: string): Promise<unknown[]> {
  const value = await parseJsonFileFlag(context, '--history', text)
  const contents = Array.isArray(value) ? value : (value as { contents?: unknown } | null)?.contents
  if (!Array.isArray(contents)) {
    throw new UsageError('--history must be an array of messages, or an object with one under "contents".')
  }
  return contents as unknown[]
}

/** Adds the user's message with its attachments, which stand before the text as the public documents advise. */
export function addMessage(body: Body, attachments: readonly Attachment[], prompt: string | undefined): void {
  const parts = [...attachments.map(attachmentPart), ...(prompt === undefined ? [] : [{ text: prompt }])]
  if (parts.length === 0) return
  appendEntries(body, 'contents', [{ role: 'user', parts }])
}

/** `inlineData` for bytes, `fileData` for a URL (wire facts, section 1, "Part kinds"). */
function attachmentPart(attachment: Attachment): unknown {
  if (attachment.kind === 'file') {
    return { inlineData: { mimeType: attachment.mediaType, data: attachment.base64() } }
  }
  const { url, mediaType } = attachment
  return { fileData: { ...(mediaType === undefined ? {} : { mimeType: mediaType }), fileUri: url } }
}
