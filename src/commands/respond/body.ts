import { UsageError } from '../../errors.ts'
import type { Attachment } from '../shared/attachments.ts'
import { appendEntries, type Body, setField } from '../shared/request-body.ts'
import type { Context } from '../../context.ts'
import { readAnswerSchema, type AnswerSchema } from '../shared/answer-schema.ts'
import { isObject } from '../../gateway/json-access.ts'
import { parseJsonFlag } from '../shared/flag-value.ts'

/**
 * Adds the user's message to the input: as plain text when that is all there is, else as a message after the others.
 * @throws UsageError when the input is a text already and a prompt comes on top
 */
export function addInput(body: Body, attachments: readonly Attachment[], prompt: string | undefined): void {
  const before = body['input']
  if (prompt === undefined && attachments.length === 0) return
  if (typeof before === 'string') {
    throw new UsageError(
      '--input is a text already; give either it or a prompt, or make --input an array of messages.',
    )
  }
  if (before === undefined && attachments.length === 0) {
    body['input'] = prompt
    return
  }
  const text = prompt === undefined ? [] : [{ type: 'input_text', text: prompt }]
  const message = { role: 'user', content: [...attachments.map(attachmentContent), ...text] }
  appendEntries(body, 'input', [message])
}

/** `input_image` for pictures, `input_file` for everything else (wire notes, section 2, "Input"). */
function attachmentContent(attachment: Attachment): unknown {
  const isImage = attachment.mediaType?.startsWith('image/') ?? false
  if (attachment.kind === 'url') {
    const { url } = attachment
    return isImage ? { type: 'input_image', image_url: url } : { type: 'input_file', file_url: url }
  }
  const data = `data:${attachment.mediaType};base64,${attachment.base64()}`
  return isImage
    ? { type: 'input_image', image_url: data }
    : { type: 'input_file', filename: attachment.name, file_data: data }
}

/**
 * Asks for an answer that follows the schema of `--schema` (`text.format`, wire notes, section 2, "Input"),
 * and hands the schema back for the check of the answer.
 */
export async function applyAnswerSchema(
  context: Context,
  text: string | undefined,
  body: Body,
): Promise<AnswerSchema | undefined> {
  if (text === undefined) return undefined
  const answer = await readAnswerSchema(context, text)
  const { title } = answer.schema as { title?: unknown }
  const name = typeof title === 'string' ? title.replaceAll(/[^\w-]+/g, '_').slice(0, 64) : ''
  const format = { type: 'json_schema', name: name || 'answer', schema: answer.schema }
  setField(body, ['text', 'format'], format, '--schema')
  return answer
}

/** Tools that a name is enough for (wire notes, section 2, "Input"). */
const plain: Readonly<Record<string, unknown>> = {
  web_search: { type: 'web_search' },
  web_search_preview: { type: 'web_search_preview' },
  image_generation: { type: 'image_generation' },
  code_interpreter: { type: 'code_interpreter', container: { type: 'auto' } },
  local_shell: { type: 'local_shell' },
}

const shortForms = [...Object.keys(plain), 'file_search:ID[,ID]', 'mcp:LABEL=URL', 'connector:LABEL=ID'].join(
  ', ',
)

/** Every form of `--tool`, for the help. */
export const responseToolForms = `${shortForms}, or a function or whole tool: @file, JSON`

/**
 * One `--tool` in its short form: a name, `file_search:ID[,ID]`, `mcp:LABEL=URL`, `connector:LABEL=ID`, or JSON (`@file`).
 * @throws UsageError for anything else
 */
export async function readResponseTool(context: Context, text: string): Promise<unknown> {
  if (Object.hasOwn(plain, text)) return plain[text]
  if (/^\s*[{@]/.test(text)) return asFunction(await parseJsonFlag(context, '--tool', text))
  const [kind, rest = ''] = splitOnce(text, ':')
  if (kind === 'file_search' && rest !== '') return { type: 'file_search', vector_store_ids: rest.split(',') }
  const [label, target = ''] = splitOnce(rest, '=')
  if (label !== '' && target !== '') {
    if (kind === 'mcp') requireUrl(text, target)
    if (kind === 'mcp') return { type: 'mcp', server_label: label, server_url: target }
    if (kind === 'connector') return { type: 'mcp', server_label: label, connector_id: target }
  }
  throw new UsageError(`--tool ${JSON.stringify(text)} is none of ${shortForms}, and no JSON or @file.`)
}

function requireUrl(text: string, url: string): void {
  const { protocol } = URL.parse(url) ?? {}
  if (protocol === 'https:' || protocol === 'http:') return
  throw new UsageError(`--tool ${JSON.stringify(text)} names no URL that starts with https:// or http://.`, {
    hint: 'Write --tool mcp:LABEL=https://host/path, or --tool connector:LABEL=ID for a connector.',
  })
}

/** A function may be given bare, nested as in the older chat style, or as a whole tool. */
function asFunction(value: unknown): unknown {
  if (!isObject(value)) return value
  if (isObject(value['function'])) return { type: 'function', ...value['function'] }
  return typeof value['name'] === 'string' && value['type'] === undefined
    ? { type: 'function', ...value }
    : value
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
