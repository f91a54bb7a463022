import { imageCreateEndpoint } from '../../contract/images.ts'
import { modelCalled } from '../../contract/known-models.ts'
import { namedIn } from '../answer/answer.ts'
import { invalidField } from '../http/request-problem.ts'
import { promptPicture } from '../images/image-endpoints.ts'
import { base64Of, paint } from '../images/image-reply.ts'
import { readImageRequest } from '../images/image-request.ts'
import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf, textsOf } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { output, type OutputItem } from './output-items.ts'

/** A call of a built-in tool that the answer makes. */
export interface BuiltInCall {
  readonly kind: BuiltInKind
  /** The tool as the request offers it. */
  readonly tool: JsonObject
  /** Which call of this kind it is in the response, from 0. */
  readonly number: number
  readonly fails: boolean
}

export interface CallSetting {
  readonly exchange: Exchange
  /** Without the words for the sandbox. */
  readonly prompt: string
  /** What is searched for. */
  readonly query: string
  /** An id of that prefix, unique in the response. */
  newId(prefix: string): string
}

/** What the text says of a call: a sentence, and the source that a part of it cites. */
export interface Finding {
  readonly sentence: string
  readonly cited?: string
  /** The annotation without its place in the text. */
  readonly source?: JsonObject
}

/** The items of a call. */
export interface MadeCall {
  readonly outputs: readonly OutputItem[]
  readonly finding?: Finding
  /** The caller has to act before the answer goes on. */
  readonly waits?: true
}

interface BuiltInTool {
  /** The `type` of tools of this kind; their dated versions begin with it. */
  readonly types: readonly string[]
  make(call: BuiltInCall, setting: CallSetting): MadeCall | Promise<MadeCall>
}

export type BuiltInKind = keyof typeof builtInTools

/** The built-in tools by the word that a prompt calls them with (wire notes, section 2, "Output items"). */
export const builtInTools = {
  web_search: { types: ['web_search', 'web_search_preview'], make: searchWeb },
  file_search: { types: ['file_search'], make: searchFiles },
  code_interpreter: { types: ['code_interpreter'], make: interpretCode },
  image_generation: { types: ['image_generation'], make: makeImage },
  computer: { types: ['computer', 'computer_use', 'computer_use_preview'], make: useComputer },
  local_shell: { types: ['local_shell'], make: runLocally },
  mcp: { types: ['mcp'], make: callRemoteTool },
} as const satisfies Readonly<Record<string, BuiltInTool>>

/** The kind of a tool, or of a tool choice; undefined for functions, custom tools and what the sandbox never calls. */
export function kindOfTool(tool: JsonObject): BuiltInKind | undefined {
  const type = textOf(tool['type']).replace(/_20\d\d_\d\d_\d\d$/, '')
  const kinds = Object.keys(builtInTools) as BuiltInKind[]
  return kinds.find((kind) => (builtInTools[kind].types as readonly string[]).includes(type))
}

function includes({ exchange }: CallSetting, extra: string): boolean {
  return listOf(exchange.body['include']).includes(extra)
}

/** What a call at the gateway leads to: its item, and what the text says of it. */
function ran(
  { fails }: BuiltInCall,
  item: JsonObject,
  streamed: string,
  { what, finding, partials = [] }: { what: string; finding?: Finding; partials?: readonly string[] },
): MadeCall {
  const { id, type, ...fields } = item
  const whole = { id, type, status: fails ? 'failed' : 'completed', ...fields }
  const found = fails ? { sentence: `[sandbox] The ${what} failed.` } : finding
  return { outputs: [output(whole, streamed, { partials })], ...(found && { finding: found }) }
}

/** A call that the caller carries out. */
function asked(item: JsonObject, streamed: string): MadeCall {
  return { outputs: [output(item, streamed)], waits: true }
}

/** The first call searches, the next ones open what was found, and look for a word in it. */
function searchWeb(call: BuiltInCall, setting: CallSetting): MadeCall {
  const { query } = setting
  const [domain = 'example.com'] = textsOf(objectOf(call.tool['filters'])['allowed_domains'])
  const page = 1 + Math.floor(call.number / 3)
  const url = `https://${domain}/sandbox/${page}`
  const sources = [url, `${url}/more`].map((found) => ({ type: 'url', url: found }))
  const search = {
    type: 'search',
    query,
    queries: [query],
    ...(includes(setting, 'web_search_call.action.sources') && { sources }),
  }
  const open = { type: 'open_page', url }
  const find = { type: 'find_in_page', url, pattern: query.split(' ')[0] }
  const action = [search, open, find][call.number % 3]
  const cited = `[Page ${page}](${url})`
  const source = { type: 'url_citation', url, title: `Page ${page} of the sandbox` }
  return ran(call, { id: setting.newId('ws'), type: 'web_search_call', action }, query, {
    what: 'web search',
    ...(action === search && { finding: { sentence: `The web has a page on it: ${cited}.`, cited, source } }),
  })
}

function searchFiles(call: BuiltInCall, setting: CallSetting): MadeCall {
  const { query } = setting
  const file = { file_id: setting.newId('file').replace('_', '-'), filename: 'sandbox-notes.md' }
  const count = Math.min(numberOf(call.tool['max_num_results']) ?? 2, 2)
  const results = Array.from({ length: count }, (_, rank) => ({
    ...file,
    score: 0.9 - rank / 4,
    text: `[sandbox] Passage ${rank + 1} of a file that no store has.`,
    attributes: {},
  }))
  const shown = includes(setting, 'file_search_call.results') && !call.fails ? results : null
  const item = { id: setting.newId('fs'), type: 'file_search_call', queries: [query], results: shown }
  const cited = `(${file.filename})`
  const source = { type: 'file_citation', ...file, index: call.number }
  const finding = { sentence: `A file has notes on it ${cited}.`, cited, source }
  return ran(call, item, query, { what: 'file search', finding })
}

const program =
  "values = [3, 1, 4, 1, 5]\nwith open('result.csv', 'w') as file:\n    file.write(str(sum(values)))\nprint(sum(values))\n"

function interpretCode(call: BuiltInCall, setting: CallSetting): MadeCall {
  const { container } = call.tool
  const container_id = typeof container === 'string' ? container : setting.newId('cntr')
  const code = call.fails ? `${program}raise SystemExit('sandbox')\n` : program
  const logs = call.fails ? '14\nSystemExit: sandbox\n' : '14\n'
  const outputs = includes(setting, 'code_interpreter_call.outputs') ? [{ type: 'logs', logs }] : null
  const item = { id: setting.newId('ci'), type: 'code_interpreter_call', code, container_id, outputs }
  const cited = 'result.csv'
  const file_id = setting.newId('cfile')
  const source = { type: 'container_file_citation', container_id, file_id, filename: cited }
  const finding = { sentence: `The program printed 14 and wrote ${cited}.`, cited, source }
  return ran(call, item, code, { what: 'program', finding })
}

/** The fields of the tool that the image endpoint has, too. */
const imageFields = [
  'background',
  'moderation',
  'output_compression',
  'output_format',
  'partial_images',
  'quality',
  'size',
]

/** The part of a tool that is a request for an image. */
export function imageRequestOf(tool: JsonObject): JsonObject {
  return Object.fromEntries(imageFields.flatMap((name) => (name in tool ? [[name, tool[name]]] : [])))
}

/** The model of the tool, whose rules hold for its fields. */
export function imageModelOf(tool: JsonObject) {
  return modelCalled(textOf(tool['model']) || 'image-model-a')
}

async function makeImage(call: BuiltInCall, { exchange, prompt, newId }: CallSetting): Promise<MadeCall> {
  const { tool, number, fails } = call
  const body = { ...imageRequestOf(tool), prompt, stream: exchange.body['stream'] }
  const request = readImageRequest({ ...exchange, body }, imageModelOf(tool), imageCreateEndpoint)
  const { size, format, quality, background } = request
  const seed = [...exchange.seed, 'image']
  const task = { request, draw: (index: number) => promptPicture(request, size, seed, index) }
  const partials: string[] = []
  const count = request.streams && !fails ? request.partials : 0
  while (partials.length < count) partials.push(base64Of(await paint(task, number, partials.length)))
  const picture = fails ? undefined : await paint(task, number)
  const item = {
    id: newId('ig'),
    type: 'image_generation_call',
    action: 'generate',
    background: picture?.background ?? background,
    output_format: format,
    quality,
    size: `${size.width}x${size.height}`,
    revised_prompt: `[sandbox] ${prompt}`,
    result: picture === undefined ? null : base64Of(picture),
  }
  const finding = { sentence: 'The picture is part of the reply.' }
  return ran(call, item, '', { what: 'image generation', finding, partials })
}

function callId({ newId }: CallSetting): string {
  return newId('call').slice(0, 29)
}

/** First a look at the screen, then a click into its middle. */
function useComputer({ tool, number }: BuiltInCall, setting: CallSetting): MadeCall {
  const [width, height] = [numberOf(tool['display_width']) ?? 1024, numberOf(tool['display_height']) ?? 768]
  const click = { type: 'click', button: 'left', x: Math.floor(width / 2), y: Math.floor(height / 2) }
  const action = number === 0 ? { type: 'screenshot' } : click
  const item = {
    id: setting.newId('cu'),
    type: 'computer_call',
    status: 'completed',
    call_id: callId(setting),
    // The preview has one action, its successor a list.
    ...(tool['type'] === 'computer' ? { actions: [action] } : { action }),
    pending_safety_checks: [],
  }
  return asked(item, JSON.stringify(action))
}

const command = 'echo "hello from the sandbox"'

function runLocally(_: BuiltInCall, setting: CallSetting): MadeCall {
  const item = {
    id: setting.newId('lsh'),
    type: 'local_shell_call',
    status: 'completed',
    call_id: callId(setting),
    action: { type: 'exec', command: ['sh', '-c', command], env: {}, timeout_ms: 10_000 },
  }
  return asked(item, command)
}

/** The tools of a remote server that the request allows, or two usual ones. */
export function remoteToolNames({ allowed_tools: allowed }: JsonObject): readonly string[] {
  const names = textsOf(isObject(allowed) ? allowed['tool_names'] : allowed)
  return names.length > 0 ? names : ['search', 'fetch']
}

/**
 * The lists of the tools of all offered servers. A list that is part of the context already is not made again.
 * @param failing whether the servers do not answer
 */
export function listRemoteTools(
  tools: readonly JsonObject[],
  context: readonly JsonObject[],
  failing: boolean,
  { newId }: CallSetting,
): readonly OutputItem[] {
  const known = context.filter(({ type }) => type === 'mcp_list_tools').map(labelOf)
  const servers = new Map(tools.filter(({ type }) => type === 'mcp').map((tool) => [labelOf(tool), tool]))
  for (const label of known) servers.delete(label)
  return Array.from(servers, ([server_label, tool]) => {
    const list = remoteToolNames(tool).map((name) => ({
      name,
      description: `The tool ${name} of a server that the sandbox makes up.`,
      input_schema: {
        type: 'object',
        properties: { query: { type: 'string' } },
        required: ['query'],
        additionalProperties: false,
      },
      annotations: { read_only: true },
    }))
    const state = failing ? { tools: [], error: '[sandbox] The server does not answer.' } : { tools: list }
    return output({ id: newId('mcpl'), type: 'mcp_list_tools', server_label, ...state })
  })
}

function labelOf({ server_label: label }: JsonObject): string {
  return textOf(label)
}

/** A call of a remote tool, or the request to approve it. */
function callRemoteTool({ tool, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const { prompt, query, newId } = setting
  const names = remoteToolNames(tool)
  const name = textOf(tool['name']) || (names.find(namedIn(prompt)) ?? names[0]!)
  const call = { server_label: labelOf(tool), name, arguments: JSON.stringify({ query }) }
  if (!needsApproval(tool, name)) return remoteCall(call, fails, newId('mcp'))
  return asked({ id: newId('mcpr'), type: 'mcp_approval_request', ...call }, call.arguments)
}

/** Approval is required unless the request says otherwise (public practice). */
function needsApproval({ require_approval: rule = 'always' }: JsonObject, name: string): boolean {
  if (!isObject(rule)) return rule !== 'never'
  const lists = (list: string) => textsOf(objectOf(rule[list])['tool_names']).includes(name)
  return !lists('never') && (rule['always'] === undefined || lists('always'))
}

function remoteCall(
  call: { readonly server_label: string; readonly name: string; readonly arguments: string },
  fails: boolean,
  id: string,
  approval_request_id: string | null = null,
): MadeCall {
  const { name } = call
  const text = `[sandbox] Result of ${name}.`
  const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: `${name} failed.` }] }
  const outcome = fails ? { output: null, error } : { output: text, error: null }
  const status = fails ? 'failed' : 'completed'
  const item = { id, type: 'mcp_call', status, approval_request_id, ...call, ...outcome }
  const sentence = fails ? `[sandbox] The tool ${name} failed.` : `The tool ${name} answered: ${text}`
  return { outputs: [output(item, call.arguments)], finding: { sentence } }
}

/**
 * What follows from the caller's answers to requests for approval: the call, or a sentence that it was not made.
 * @param responses the answers at the end of the input
 * @param context all items before
 * @throws RequestProblem 400 for a request that the context does not contain
 */
export function followApprovals(
  responses: readonly JsonObject[],
  context: readonly JsonObject[],
  { newId }: CallSetting,
): readonly MadeCall[] {
  const requests = new Map(
    context.filter(({ type }) => type === 'mcp_approval_request').map((item) => [item['id'], item]),
  )
  return responses.map(({ approval_request_id: id, approve }): MadeCall => {
    const request = requests.get(id)
    if (request === undefined) {
      throw invalidField('input', `no request for approval has the id ${JSON.stringify(id)}`)
    }
    const [name, text] = [textOf(request['name']), textOf(request['arguments'])]
    const sentence = `The call of ${name} was not approved, so it was not made.`
    if (approve !== true) return { outputs: [], finding: { sentence } }
    return remoteCall(
      { server_label: labelOf(request), name, arguments: text },
      false,
      newId('mcp'),
      textOf(id),
    )
  })
}
