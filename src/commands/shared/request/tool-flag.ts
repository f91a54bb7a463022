import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import type { Approval, ToolOutput } from '../../../operations/tool-outputs.ts'
import { parseJsonFlag, parseTextFlag } from './flag-values.ts'

/** They need no configuration (wire notes, section 1, "Request fields"). */
const contentTools: Readonly<Record<string, string>> = {
  google_search: 'googleSearch',
  code_execution: 'codeExecution',
  url_context: 'urlContext',
  google_maps: 'googleMaps',
}

/** What `--tool` takes beside JSON: words, and other forms. */
export interface ToolForms {
  readonly words: readonly string[]
  readonly others: readonly string[]
}

export const contentToolForms: ToolForms = { words: Object.keys(contentTools), others: [] }

/** A built-in tool by name, or a function declaration (or a whole tool) as JSON or `@file`. */
export async function readContentTool(context: Context, text: string): Promise<unknown> {
  if (Object.hasOwn(contentTools, text)) return { [contentTools[text]!]: {} }
  if (!/^\s*[{@]/.test(text)) {
    throw new UsageError(
      `--tool ${JSON.stringify(text)} is not one of ${Object.keys(contentTools).join(', ')}, nor JSON or @file.`,
    )
  }
  const value = await parseJsonFlag(context, '--tool', text)
  // A function declaration has a name; a complete tool does not.
  const isDeclaration = typeof (value as { name?: unknown } | null)?.name === 'string'
  return isDeclaration ? { functionDeclarations: [value] } : value
}

/** They need only a name (wire notes, section 2, "Input"). */
const responseTools: Readonly<Record<string, unknown>> = {
  web_search: { type: 'web_search' },
  web_search_preview: { type: 'web_search_preview' },
  image_generation: { type: 'image_generation' },
  code_interpreter: { type: 'code_interpreter', container: { type: 'auto' } },
  local_shell: { type: 'local_shell' },
}

export const responseToolForms: ToolForms = {
  words: Object.keys(responseTools),
  others: ['file_search:ID[,ID]', 'mcp:LABEL=URL', 'connector:LABEL=ID'],
}

export async function readResponseTool(context: Context, text: string): Promise<unknown> {
  if (Object.hasOwn(responseTools, text)) return responseTools[text]
  if (/^\s*[{@]/.test(text)) return asFunction(await parseJsonFlag(context, '--tool', text))
  const [kind, rest = ''] = splitOnce(text, ':')
  if (kind === 'file_search' && rest !== '') return { type: 'file_search', vector_store_ids: rest.split(',') }
  const [label, target = ''] = splitOnce(rest, '=')
  if (label !== '' && target !== '') {
    if (kind === 'mcp') requireUrl(text, target)
    if (kind === 'mcp') return { type: 'mcp', server_label: label, server_url: target }
    if (kind === 'connector') return { type: 'mcp', server_label: label, connector_id: target }
  }
  const forms = [...responseToolForms.words, ...responseToolForms.others].join(', ')
  throw new UsageError(`--tool ${JSON.stringify(text)} is not one of ${forms}, nor JSON or @file.`)
}

function requireUrl(text: string, url: string): void {
  const { protocol } = URL.parse(url) ?? {}
  if (protocol === 'https:' || protocol === 'http:') return
  throw new UsageError(`--tool ${JSON.stringify(text)} names no URL that starts with https:// or http://.`, {
    hint: 'Write --tool mcp:LABEL=https://host/path, or --tool connector:LABEL=ID for a connector.',
  })
}

/** A function may be bare, nested as in the older chat style, or a complete tool. */
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

/** `CALL=TEXT`, `CALL=@file` or `CALL=@-`. */
export async function readToolOutput(context: Context, flag: string, text: string): Promise<ToolOutput> {
  const [call, value] = splitOnce(text, '=')
  if (call === '' || value === undefined) {
    throw new UsageError(`${flag} ${JSON.stringify(text.slice(0, 60))} must be CALL=TEXT or CALL=@file.`)
  }
  return { call, text: await parseTextFlag(context, flag, value) }
}

/** `ID`; to deny, also `ID=REASON`. */
export function readApproval(text: string, approve: boolean): Approval {
  const [request, reason] = approve ? [text] : splitOnce(text, '=')
  if (request !== '') return { request, approve, reason }
  throw new UsageError(`${approve ? '--approve' : '--deny'} needs the id of a request for approval.`)
}
