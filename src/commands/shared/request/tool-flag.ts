import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import type { Style } from '../../../operations/conversation/conversation.ts'
import type { ToolOutput } from '../../../operations/tool-outputs.ts'
import { parseJsonFlag, parseTextFlag } from './flag-values.ts'

/** They need no configuration (wire notes, section 1, "Request fields"; section 2, "Input"). */
export const namedTools: Readonly<Record<Style, Readonly<Record<string, unknown>>>> = {
  generate: {
    google_search: { googleSearch: {} },
    code_execution: { codeExecution: {} },
    url_context: { urlContext: {} },
    google_maps: { googleMaps: {} },
  },
  respond: {
    web_search: { type: 'web_search' },
    web_search_preview: { type: 'web_search_preview' },
    image_generation: { type: 'image_generation' },
    code_interpreter: { type: 'code_interpreter', container: { type: 'auto' } },
    local_shell: { type: 'local_shell' },
  },
}

/** What `--tool` takes beside JSON. */
export const toolForms: Readonly<Record<Style, string>> = {
  generate: Object.keys(namedTools.generate).join(', '),
  respond: `${Object.keys(namedTools.respond).join(', ')}, file_search:ID[,ID], mcp:LABEL=URL, connector:LABEL=ID`,
}

/** A tool by its name or in another form of the style; or a function, or a whole tool, as JSON or `@file`. */
export async function readTool(context: Context, style: Style, text: string): Promise<unknown> {
  const named = namedTools[style]
  if (Object.hasOwn(named, text)) return named[text]
  if (/^\s*[{@]/.test(text)) {
    const value = await parseJsonFlag(context, '--tool', text)
    return style === 'respond' ? asFunction(value) : asDeclaration(value)
  }
  const tool = style === 'respond' ? remoteTool(text) : undefined
  if (tool !== undefined) return tool
  throw new UsageError(`--tool ${JSON.stringify(text)} is not one of ${toolForms[style]}, nor JSON or @file.`)
}

function remoteTool(text: string): unknown {
  const [kind, rest = ''] = splitOnce(text, ':')
  if (kind === 'file_search' && rest !== '') return { type: 'file_search', vector_store_ids: rest.split(',') }
  const [label, target = ''] = splitOnce(rest, '=')
  if (label === '' || target === '') return undefined
  if (kind === 'connector') return { type: 'mcp', server_label: label, connector_id: target }
  if (kind !== 'mcp') return undefined
  if (!/^https?:$/.test(URL.parse(target)?.protocol ?? '')) {
    const problem = `--tool ${JSON.stringify(text)} names no URL that starts with https:// or http://.`
    throw new UsageError(problem, {
      hint: 'Write --tool mcp:LABEL=https://host/path, or --tool connector:LABEL=ID for a connector.',
    })
  }
  return { type: 'mcp', server_label: label, server_url: target }
}

/** A function declaration has a name; a complete tool does not. */
function asDeclaration(value: unknown): unknown {
  const isDeclaration = isObject(value) && typeof value['name'] === 'string'
  return isDeclaration ? { functionDeclarations: [value] } : value
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

/** An input item. */
export function readApproval(id: string) {
  if (id === '') throw new UsageError('--approve needs the id of a request for approval.')
  return { type: 'mcp_approval_response', approval_request_id: id, approve: true }
}

/** `ID` or `ID=REASON`. */
export function readDenial(text: string) {
  const [id, reason] = splitOnce(text, '=')
  if (id === '') throw new UsageError('--deny needs the id of a request for approval.')
  return { ...readApproval(id), approve: false, ...(reason === undefined ? {} : { reason }) }
}
