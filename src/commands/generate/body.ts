import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Attachment } from '../shared/attachments.ts'
import { parseJsonFileFlag, parseJsonFlag } from '../shared/flag-value.ts'
import { appendEntries, type Body, setField } from '../shared/request-body.ts'
import { isObject } from '../../gateway/json-access.ts'
import { readAnswerSchema, type AnswerSchema } from '../shared/answer-schema.ts'

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

/** `inlineData` for bytes, `fileData` for a URL (wire notes, section 1, "Part kinds"). */
function attachmentPart(attachment: Attachment): unknown {
  if (attachment.kind === 'file') {
    return { inlineData: { mimeType: attachment.mediaType, data: attachment.base64() } }
  }
  const { url, mediaType } = attachment
  return { fileData: { ...(mediaType === undefined ? {} : { mimeType: mediaType }), fileUri: url } }
}

interface SafetySetting {
  readonly category: string
  readonly threshold: string
}

/**
 * One `--safety category=threshold`. The category may be given without its prefix and in lower case.
 * @throws UsageError when it is not one name, `=` and one word
 */
export function readSafety(text: string): SafetySetting {
  const [name = '', threshold = '', ...rest] = text.split('=')
  if (name.trim() === '' || threshold.trim() === '' || rest.length > 0) {
    throw new UsageError(
      `--safety ${JSON.stringify(text)} must be category=threshold, such as harassment=BLOCK_NONE.`,
    )
  }
  const category = name.trim().toUpperCase().replaceAll('-', '_')
  return {
    category: category.startsWith('HARM_CATEGORY_') ? category : `HARM_CATEGORY_${category}`,
    threshold: threshold.trim().toUpperCase().replaceAll('-', '_'),
  }
}

/** Adds the settings of `--safety`; one that is there already for the same category gives way. */
export function addSafety(body: Body, settings: readonly SafetySetting[]): void {
  const given = new Set<unknown>(settings.map(({ category }) => category))
  const before = body['safetySettings']
  if (Array.isArray(before)) {
    body['safetySettings'] = before.filter((entry) => !isObject(entry) || !given.has(entry['category']))
  }
  appendEntries(body, 'safetySettings', settings)
}

/**
 * Asks for an answer that follows the schema of `--schema` (`generationConfig`, wire notes, section 1,
 * "Request fields"), and hands the schema back for the check of the answer.
 */
export async function applyAnswerSchema(
  context: Context,
  text: string | undefined,
  body: Body,
): Promise<AnswerSchema | undefined> {
  if (text === undefined) return undefined
  const answer = await readAnswerSchema(context, text)
  setField(body, ['generationConfig', 'responseMimeType'], 'application/json', '--schema')
  setField(body, ['generationConfig', 'responseJsonSchema'], answer.schema, '--schema')
  return answer
}

/** Tools that need no configuration, by their short names (wire notes, section 1, "Request fields"). */
const builtIn: Readonly<Record<string, string>> = {
  google_search: 'googleSearch',
  code_execution: 'codeExecution',
  url_context: 'urlContext',
  google_maps: 'googleMaps',
}

/** Every form of `--tool`, for the help. */
export const contentToolForms = [...Object.keys(builtIn), 'or a function or whole tool: @file, JSON'].join(
  ', ',
)

/**
 * One `--tool`: a built-in tool by name, or a function declaration (or a whole tool) as JSON or `@file`.
 * @throws UsageError for an unknown name
 */
export async function readContentTool(context: Context, text: string): Promise<unknown> {
  if (Object.hasOwn(builtIn, text)) return { [builtIn[text]!]: {} }
  if (!/^\s*[{@]/.test(text)) {
    throw new UsageError(
      `--tool ${JSON.stringify(text)} is none of ${Object.keys(builtIn).join(', ')}, and no JSON or @file.`,
    )
  }
  const value = await parseJsonFlag(context, '--tool', text)
  // A declaration has a name; a whole tool has none.
  const isDeclaration = typeof (value as { name?: unknown } | null)?.name === 'string'
  return isDeclaration ? { functionDeclarations: [value] } : value
}
