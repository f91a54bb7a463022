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
  readonly waits?: boolean
}

/** What a tool leads to: the fields of its item but id, type and state. */
interface Result {
  readonly fields: JsonObject
  readonly streamed: string
  readonly finding?: Finding
  readonly partials?: readonly string[]
}

interface BuiltInTool {
  /** The `type` of tools of this kind; their dated versions begin with it. */
  readonly types: readonly string[]
  readonly item: string
  /** Of the item's id. */
  readonly prefix: string
  /** In the sentence that it failed; undefined for a call that the caller carries out. */
  readonly what?: string
  run(call: BuiltInCall, setting: CallSetting): Result | Promise<Result>
}

const program =
  "values = [3, 1, 4, 1, 5]\nwith open('result.csv', 'w') as file:\n    file.write(str(sum(values)))\nprint(sum(values))\n"
const command = 'echo "hello from the sandbox"'

/** The built-in tools by the word that a prompt calls them with (wire notes, section 2, "Output items"). */
const builtInTools = {
  web_search: {
    types: ['web_search', 'web_search_preview'],
    item: 'web_search_call',
    prefix: 'ws',
    what: 'web search',
    /** The first call searches, the next ones open what was found, and look for a word in it. */
    run({ tool, number }: BuiltInCall, setting: CallSetting) {
      const { query } = setting
      const [domain = 'example.com'] = textsOf(objectOf(tool['filters'])['allowed_domains'])
      const page = 1 + Math.floor(number / 3)
      const url = `https://${domain}/sandbox/${page}`
      const sources = [url, `${url}/more`].map((found) => ({ type: 'url', url: found }))
      const shown = includes(setting, 'web_search_call.action.sources') && { sources }
      const search = { type: 'search', query, queries: [query], ...shown }
      const find = { type: 'find_in_page', url, pattern: query.split(' ')[0] }
      const action = [search, { type: 'open_page', url }, find][number % 3]
      const cited = `[Page ${page}](${url})`
      const source = { type: 'url_citation', url, title: `Page ${page} of the sandbox` }
      const finding = { sentence: `The web has a page on it: ${cited}.`, cited, source }
      return { fields: { action }, streamed: query, ...(action === search && { finding }) }
    },
  },
  file_search: {
    types: ['file_search'],
    item: 'file_search_call',
    prefix: 'fs',
    what: 'file search',
    run({ tool, number, fails }: BuiltInCall, setting: CallSetting) {
      const { query } = setting
      const file = { file_id: setting.newId('file').replace('_', '-'), filename: 'sandbox-notes.md' }
      const count = Math.min(numberOf(tool['max_num_results']) ?? 2, 2)
      const found = Array.from({ length: count }, (_, rank) => ({
        ...file,
        score: 0.9 - rank / 4,
        text: `[sandbox] Passage ${rank + 1} of a file that no store has.`,
        attributes: {},
      }))
      const results = includes(setting, 'file_search_call.results') && !fails ? found : null
      const cited = `(${file.filename})`
      const source = { type: 'file_citation', ...file, index: number }
      const finding = { sentence: `A file has notes on it ${cited}.`, cited, source }
      return { fields: { queries: [query], results }, streamed: query, finding }
    },
  },
  code_interpreter: {
    types: ['code_interpreter'],
    item: 'code_interpreter_call',
    prefix: 'ci',
    what: 'program',
    run({ tool: { container }, fails }: BuiltInCall, setting: CallSetting) {
      const container_id = typeof container === 'string' ? container : setting.newId('cntr')
      const code = fails ? `${program}raise SystemExit('sandbox')\n` : program
      const logs = fails ? '14\nSystemExit: sandbox\n' : '14\n'
      const outputs = includes(setting, 'code_interpreter_call.outputs') ? [{ type: 'logs', logs }] : null
      const cited = 'result.csv'
      const file_id = setting.newId('cfile')
      const source = { type: 'container_file_citation', container_id, file_id, filename: cited }
      const finding = { sentence: `The program printed 14 and wrote ${cited}.`, cited, source }
      return { fields: { code, container_id, outputs }, streamed: code, finding }
    },
  },
  image_generation: {
    types: ['image_generation'],
    item: 'image_generation_call',
    prefix: 'ig',
    what: 'image generation',
    async run({ tool, number, fails }: BuiltInCall, { exchange, prompt }: CallSetting) {
      const body = { ...imageRequestOf(tool), prompt, stream: exchange.body['stream'] }
      const request = readImageRequest({ ...exchange, body }, imageModelOf(tool), imageCreateEndpoint)
      const { size, format, quality, background } = request
      const seed = [...exchange.seed, 'image']
      const task = { request, draw: (index: number) => promptPicture(request, size, seed, index) }
      const partials: string[] = []
      const count = request.streams && !fails ? request.partials : 0
      while (partials.length < count) partials.push(base64Of(await paint(task, number, partials.length)))
      const picture = fails ? undefined : await paint(task, number)
      const fields = {
        action: 'generate',
        background: picture?.background ?? background,
        output_format: format,
        quality,
        size: `${size.width}x${size.height}`,
        revised_prompt: `[sandbox] ${prompt}`,
        result: picture === undefined ? null : base64Of(picture),
      }
      return { fields, streamed: '', finding: { sentence: 'The picture is part of the reply.' }, partials }
    },
  },
  computer: {
    types: ['computer', 'computer_use', 'computer_use_preview'],
    item: 'computer_call',
    prefix: 'cu',
    /** First a look at the screen, then a click into its middle. */
    run({ tool, number }: BuiltInCall, { newId }: CallSetting) {
      const [width, height] = [
        numberOf(tool['display_width']) ?? 1024,
        numberOf(tool['display_height']) ?? 768,
      ]
      const click = { type: 'click', button: 'left', x: Math.floor(width / 2), y: Math.floor(height / 2) }
      const action = number === 0 ? { type: 'screenshot' } : click
      // The preview has one action, its successor a list.
      const shown = tool['type'] === 'computer' ? { actions: [action] } : { action }
      const fields = { call_id: callId(newId), ...shown, pending_safety_checks: [] }
      return { fields, streamed: JSON.stringify(action) }
    },
  },
  local_shell: {
    types: ['local_shell'],
    item: 'local_shell_call',
    prefix: 'lsh',
    run(_: BuiltInCall, { newId }: CallSetting) {
      const action = { type: 'exec', command: ['sh', '-c', command], env: {}, timeout_ms: 10_000 }
      return { fields: { call_id: callId(newId), action }, streamed: command }
    },
  },
} as const satisfies Readonly<Record<string, BuiltInTool>>

export type BuiltInKind = keyof typeof builtInTools | 'mcp'
export const builtInKinds = [...Object.keys(builtInTools), 'mcp'] as readonly BuiltInKind[]

/** The kind of a tool, or of a tool choice; undefined for functions, custom tools and what the sandbox never calls. */
export function kindOfTool(tool: JsonObject): BuiltInKind | undefined {
  const type = textOf(tool['type']).replace(/_20\d\d_\d\d_\d\d$/, '')
  return builtInKinds.find((kind) => {
    const types: readonly string[] = kind === 'mcp' ? ['mcp'] : builtInTools[kind].types
    return types.includes(type)
  })
}

/** Makes a call, or has the caller make it. */
export async function makeCall(call: BuiltInCall, setting: CallSetting): Promise<MadeCall> {
  if (call.kind === 'mcp') return callRemoteTool(call, setting)
  const { item: type, prefix, what, run }: BuiltInTool = builtInTools[call.kind]
  const { fields, streamed, finding, partials = [] } = await run(call, setting)
  const hasFailed = call.fails && what !== undefined
  const item = { id: setting.newId(prefix), type, status: hasFailed ? 'failed' : 'completed', ...fields }
  const found = hasFailed ? { sentence: `[sandbox] The ${what} failed.` } : finding
  const outputs = [output(item, streamed, { partials })]
  return { outputs, waits: what === undefined, ...(found && { finding: found }) }
}

function includes({ exchange }: CallSetting, extra: string): boolean {
  return listOf(exchange.body['include']).includes(extra)
}

/** The id by which the output of a call names it. */
export function callId(newId: CallSetting['newId']): string {
  return newId('call').slice(0, 29)
}

/** The fields of the tool that the image endpoint has, too. */
const imageFields =
  'background moderation output_compression output_format partial_images quality size'.split(' ')

/** The part of a tool that is a request for an image. */
export function imageRequestOf(tool: JsonObject): JsonObject {
  return Object.fromEntries(imageFields.flatMap((name) => (name in tool ? [[name, tool[name]]] : [])))
}

/** The model of the tool, whose rules hold for its fields. */
export function imageModelOf(tool: JsonObject) {
  return modelCalled(textOf(tool['model']) || 'image-model-a')
}

/** The tools of a remote server that the request allows, or two usual ones. */
export function remoteToolNames({ allowed_tools: allowed }: JsonObject): readonly string[] {
  const names = textsOf(isObject(allowed) ? allowed['tool_names'] : allowed)
  return names.length > 0 ? names : ['search', 'fetch']
}

const querySchema = {
  type: 'object',
  properties: { query: { type: 'string' } },
  required: ['query'],
  additionalProperties: false,
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
  const servers = new Map(tools.filter(({ type }) => type === 'mcp').map((tool) => [labelOf(tool), tool]))
  for (const item of context) if (item['type'] === 'mcp_list_tools') servers.delete(labelOf(item))
  return Array.from(servers, ([server_label, tool]) => {
    const list = remoteToolNames(tool).map((name) => ({
      name,
      description: `The tool ${name} of a server that the sandbox makes up.`,
      input_schema: querySchema,
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
function callRemoteTool({ tool, fails }: BuiltInCall, { prompt, query, newId }: CallSetting): MadeCall {
  const names = remoteToolNames(tool)
  const name = textOf(tool['name']) || (names.find(namedIn(prompt)) ?? names[0]!)
  const call = { server_label: labelOf(tool), name, arguments: JSON.stringify({ query }) }
  if (!needsApproval(tool, name)) return remoteCall(call, fails, newId('mcp'))
  const request = { id: newId('mcpr'), type: 'mcp_approval_request', ...call }
  return { outputs: [output(request, call.arguments)], waits: true }
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
    const name = textOf(request['name'])
    const call = { server_label: labelOf(request), name, arguments: textOf(request['arguments']) }
    if (approve === true) return remoteCall(call, false, newId('mcp'), textOf(id))
    return { outputs: [], finding: { sentence: `The call of ${name} was not approved, so it was not made.` } }
  })
}
