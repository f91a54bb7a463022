import { imageCreateEndpoint } from '../../contract/images.ts'
import { modelCalled } from '../../contract/known-models.ts'
import { chooseCalls, namedIn, type Scenario } from '../answer/answer.ts'
import type { ToolCall } from '../answer/compose-answer.ts'
import { invalidField, limitExceeded, RequestProblem } from '../http/request-problem.ts'
import { base64Of, paint } from '../images/image-endpoints.ts'
import { readImageRequest } from '../images/image-request.ts'
import { isObject, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { describeOutput, lastOutputs } from './input.ts'
import { output, type OutputItem } from './output-items.ts'

export interface CallSetting {
  readonly exchange: Exchange
  /** The conversation so far and the input. */
  readonly context: readonly JsonObject[]
  readonly words: Scenario['words']
  /** Without the words for the sandbox. */
  readonly prompt: string
  readonly query: string
  includes(field: string): boolean
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

interface MadeCall {
  readonly output?: OutputItem
  readonly finding?: Finding | undefined
  /** The caller has to act before the answer continues. */
  readonly waits?: boolean
}

interface BuiltInCall extends CallSetting {
  readonly kind: string
  readonly tool: JsonObject
  /** Which call of this kind it is in the response, from 0. */
  readonly number: number
  readonly fails: boolean
}

interface Result {
  /** Of the item, besides id, type and state. */
  readonly fields: JsonObject
  readonly streamed: string
  /** Undefined for a call that the caller carries out, which does not fail. */
  readonly finding?: Finding
  readonly partials?: readonly string[]
}

const program =
  "values = [3, 1, 4, 1, 5]\nwith open('result.csv', 'w') as file:\n    file.write(str(sum(values)))\nprint(sum(values))\n"
const command = 'echo "hello from the sandbox"'

/** The built-in tools but remote ones, by the word that a prompt calls them with (wire notes, section 2, "Output items"). */
const builtInTools: Readonly<Record<string, (call: BuiltInCall) => Result | Promise<Result>>> = {
  web_search({ tool, number, query, includes }) {
    const [domain = 'example.com'] = textsOf(objectOf(tool['filters'])['allowed_domains'])
    const page = number + 1
    const url = `https://${domain}/sandbox/${page}`
    const sources = [url, `${url}/more`].map((found) => ({ type: 'url', url: found }))
    const shown = includes('web_search_call.action.sources') && { sources }
    const action = { type: 'search', query, queries: [query], ...shown }
    const cited = `[Page ${page}](${url})`
    const source = { type: 'url_citation', url, title: `Page ${page} of the sandbox` }
    const finding = { sentence: `The web has a page on it: ${cited}.`, cited, source }
    return { fields: { action }, streamed: query, finding }
  },

  file_search({ tool, number, fails, query, includes, newId }) {
    const file = { file_id: newId('file').replace('_', '-'), filename: 'sandbox-notes.md' }
    const count = Math.min(numberOf(tool['max_num_results']) ?? 2, 2)
    const found = Array.from({ length: count }, (_, rank) => ({
      ...file,
      score: 0.9 - rank / 4,
      text: `[sandbox] Passage ${rank + 1} of a file that no store has.`,
      attributes: {},
    }))
    const results = includes('file_search_call.results') && !fails ? found : null
    const cited = `(${file.filename})`
    const source = { type: 'file_citation', ...file, index: number }
    const finding = { sentence: `A file has notes on it ${cited}.`, cited, source }
    return { fields: { queries: [query], results }, streamed: query, finding }
  },

  code_interpreter({ tool: { container }, fails, includes, newId }) {
    const container_id = typeof container === 'string' ? container : newId('cntr')
    const code = fails ? `${program}raise SystemExit('sandbox')\n` : program
    const logs = fails ? '14\nSystemExit: sandbox\n' : '14\n'
    const outputs = includes('code_interpreter_call.outputs') ? [{ type: 'logs', logs }] : null
    const cited = 'result.csv'
    const file_id = newId('cfile')
    const source = { type: 'container_file_citation', container_id, file_id, filename: cited }
    const finding = { sentence: `The program printed 14 and wrote ${cited}.`, cited, source }
    return { fields: { code, container_id, outputs }, streamed: code, finding }
  },

  async image_generation({ tool, number, fails, exchange, prompt }) {
    const body = { ...imageRequestOf(tool), prompt, stream: exchange.body['stream'] }
    const request = readImageRequest({ ...exchange, body }, imageModelOf(tool), imageCreateEndpoint)
    const { size, format, quality, background } = request
    const partials: string[] = []
    const count = request.streams && !fails ? request.partials : 0
    while (partials.length < count) partials.push(base64Of(await paint(request, number, partials.length)))
    const picture = fails ? undefined : await paint(request, number)
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

  /** First a look at the screen, then a click into its middle. */
  computer({ tool, number, newId }) {
    const x = Math.floor((numberOf(tool['display_width']) ?? 1024) / 2)
    const y = Math.floor((numberOf(tool['display_height']) ?? 768) / 2)
    const click = { type: 'click', button: 'left', x, y }
    const action = number === 0 ? { type: 'screenshot' } : click
    // The preview has one action, its successor a list.
    const shown = tool['type'] === 'computer' ? { actions: [action] } : { action }
    const fields = { call_id: callId(newId), ...shown, pending_safety_checks: [] }
    return { fields, streamed: JSON.stringify(action) }
  },

  local_shell({ newId }) {
    const action = { type: 'exec', command: ['sh', '-c', command], env: {}, timeout_ms: 10_000 }
    return { fields: { call_id: callId(newId), action }, streamed: command }
  },
}

const builtInKinds = [...Object.keys(builtInTools), 'mcp']

/** The kind of a tool, or of a tool choice; undefined for functions, custom tools and what the sandbox never calls. */
export function kindOfTool({ type }: JsonObject): string | undefined {
  const name = textOf(type)
    .replace(/_20\d\d_\d\d_\d\d$/, '')
    .replace(/(_use)?(_preview)?$/, '')
  return builtInKinds.find((kind) => kind === name)
}

/** Follows answers about approval, calls built-in tools within the limit of tokens, and chooses the caller's. */
export async function useTools(setting: CallSetting, isCallless: boolean, maxTokens: number) {
  const { exchange, context, words } = setting
  const { approvals = [], outputs = [] } = Object.groupBy(lastOutputs(context), ({ type }) =>
    type === 'mcp_approval_response' ? 'approvals' : 'outputs',
  )
  const { calls, builtIn } =
    approvals.length > 0 || isCallless ? { calls: [], builtIn: [] } : chosenCalls(setting, outputs.length > 0)
  const listWords = words.filter(({ name }) => name === 'mcp_list_tools')
  const failsToList = listWords.some(({ variant }) => variant === 'failed')
  const tools = [...objectsOf(exchange.body['tools']), ...builtIn.map(({ tool }) => tool)]
  const servers = tools.filter(({ type }) => type === 'mcp')
  if (listWords.length > 0 && servers.length === 0) servers.push(usualTools['mcp']!)
  const lists = isCallless ? [] : listRemoteTools(servers, failsToList, setting)
  const all = followApprovals(approvals, setting)
  for (const call of builtIn) {
    // A server that does not list its tools is not called.
    if (call.kind !== 'mcp' || !failsToList) all.push(await makeCall(call))
  }
  const made: MadeCall[] = []
  let tokens = 0
  for (const call of all) {
    const more = call.output?.tokens.length ?? 0
    if (tokens + more > maxTokens) break
    made.push(call)
    tokens += more
  }
  const toolOutputs = outputs.map((item) => describeOutput(item['output']))
  return { lists, made, tokens, isCut: made.length < all.length, calls, toolOutputs }
}

/** Of the ids of calls, as the public service has them. */
const prefixes: Readonly<Record<string, string>> = {
  web_search: 'ws',
  file_search: 'fs',
  code_interpreter: 'ci',
  image_generation: 'ig',
  computer: 'cu',
  local_shell: 'lsh',
}

async function makeCall(call: BuiltInCall): Promise<MadeCall> {
  const { kind, newId } = call
  if (kind === 'mcp') return callRemoteTool(call)
  const { fields, streamed, finding, partials = [] } = await builtInTools[kind]!(call)
  const fails = call.fails && finding !== undefined
  const status = fails ? 'failed' : 'completed'
  const item = { id: newId(prefixes[kind]!), type: `${kind}_call`, status, ...fields }
  const what = kind === 'code_interpreter' ? 'program' : kind.replace('_', ' ')
  return {
    output: output(item, streamed, { partials }),
    waits: finding === undefined,
    finding: fails ? { sentence: `[sandbox] The ${what} failed.` } : finding,
  }
}

export function callId(newId: CallSetting['newId']): string {
  return newId('call').slice(0, 29)
}

const imageFields =
  'background moderation output_compression output_format partial_images quality size'.split(' ')

export function imageRequestOf(tool: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(tool).filter(([name]) => imageFields.includes(name)))
}

export function imageModelOf(tool: JsonObject) {
  return modelCalled(textOf(tool['model']) || 'image-model-a')
}

export function remoteToolNames({ allowed_tools: allowed }: JsonObject): readonly string[] {
  const names = textsOf(isObject(allowed) ? allowed['tool_names'] : allowed)
  return names.length > 0 ? names : ['search', 'fetch']
}

function oneText(name: string): JsonObject {
  const properties = { [name]: { type: 'string' } }
  return { type: 'object', properties, required: [name], additionalProperties: false }
}

/** The lists of the tools of servers, but of those that the context lists already. */
function listRemoteTools(
  tools: readonly JsonObject[],
  isFailing: boolean,
  { context, newId }: CallSetting,
): readonly OutputItem[] {
  const servers = new Map(tools.map((tool) => [labelOf(tool), tool]))
  for (const item of context) if (item['type'] === 'mcp_list_tools') servers.delete(labelOf(item))
  return Array.from(servers, ([server_label, tool]) => {
    const list = remoteToolNames(tool).map((name) => ({
      name,
      description: `The tool ${name} of a server that the sandbox makes up.`,
      input_schema: oneText('query'),
      annotations: { read_only: true },
    }))
    const state = isFailing ? { tools: [], error: '[sandbox] The server does not answer.' } : { tools: list }
    return output({ id: newId('mcpl'), type: 'mcp_list_tools', server_label, ...state })
  })
}

function labelOf({ server_label: label }: JsonObject): string {
  return textOf(label)
}

function callRemoteTool({ tool, fails, prompt, query, newId }: BuiltInCall): MadeCall {
  const names = remoteToolNames(tool)
  const name = textOf(tool['name']) || (names.find(namedIn(prompt)) ?? names[0]!)
  const call = { server_label: labelOf(tool), name, arguments: JSON.stringify({ query }) }
  if (!needsApproval(tool, name)) return remoteCall(newId('mcp'), call, fails)
  const request = { id: newId('mcpr'), type: 'mcp_approval_request', ...call }
  return { output: output(request, call.arguments), waits: true }
}

/** Approval is required unless the request says otherwise (public practice). */
function needsApproval({ require_approval: rule = 'always' }: JsonObject, name: string): boolean {
  if (!isObject(rule)) return rule !== 'never'
  const lists = (list: string) => textsOf(objectOf(rule[list])['tool_names']).includes(name)
  return !lists('never') && (rule['always'] === undefined || lists('always'))
}

function remoteCall(
  id: string,
  call: { readonly name: string; readonly arguments: string },
  fails: boolean,
  approval_request_id: unknown = null,
): MadeCall {
  const { name } = call
  const text = `[sandbox] Result of ${name}.`
  const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: `${name} failed.` }] }
  const outcome = fails ? { output: null, error } : { output: text, error: null }
  const status = fails ? 'failed' : 'completed'
  const item = { id, type: 'mcp_call', status, approval_request_id, ...call, ...outcome }
  const sentence = fails ? `[sandbox] The tool ${name} failed.` : `The tool ${name} answered: ${text}`
  return { output: output(item, call.arguments), finding: { sentence } }
}

/** What follows from answers to requests for approval: a call, or a sentence that it was not made. */
function followApprovals(approvals: readonly JsonObject[], { context, newId }: CallSetting): MadeCall[] {
  const requests = context.filter(({ type }) => type === 'mcp_approval_request')
  const requestById = new Map(requests.map((item) => [item['id'], item]))
  return approvals.map(({ approval_request_id: id, approve }): MadeCall => {
    const request = requestById.get(id)
    if (request === undefined) {
      throw invalidField('input', `no request for approval has the id ${JSON.stringify(id)}`)
    }
    const name = textOf(request['name'])
    const call = { server_label: labelOf(request), name, arguments: textOf(request['arguments']) }
    if (approve === true) return remoteCall(newId('mcp'), call, false, id)
    return { finding: { sentence: `The call of ${name} was not approved, so it was not made.` } }
  })
}

const maxBuiltInCalls = 16

/** @param hasOutput whether the request ends with the output of a call, which the answer then quotes */
function chosenCalls(setting: CallSetting, hasOutput: boolean) {
  const { body } = setting.exchange
  const all = choose(setting, hasOutput)
  const calls: ToolCall[] = []
  const builtIn: BuiltInCall[] = []
  for (const { tool, fails } of body['parallel_tool_calls'] === false ? all.slice(0, 1) : all) {
    const kind = kindOfTool(tool)
    if (kind !== undefined) {
      const number = builtIn.filter((call) => call.kind === kind).length
      builtIn.push({ ...setting, kind, tool, number, fails })
      continue
    }
    const parameters = tool['type'] === 'custom' ? undefined : (tool['parameters'] ?? { type: 'object' })
    calls.push({ name: textOf(tool['name']), parameters })
  }
  // Further attempts are ignored (specification, `max_tool_calls`).
  const made = builtIn.slice(0, numberOf(body['max_tool_calls']) ?? Infinity)
  if (made.length <= maxBuiltInCalls) return { calls, builtIn: made }
  throw limitExceeded(`The sandbox makes at most ${maxBuiltInCalls} calls of built-in tools in one response.`)
}

type ChosenTool = Pick<BuiltInCall, 'tool' | 'fails'>

function choose({ exchange, words, prompt }: CallSetting, hasOutput: boolean): readonly ChosenTool[] {
  const { tools, tool_choice: choice } = exchange.body
  const offered = objectsOf(tools).filter((tool) => namesOf(tool).length > 0)
  const isRule = isObject(choice) && choice['type'] === 'allowed_tools'
  if (isObject(choice) && !isRule) return [{ tool: forcedBy(choice, offered), fails: false }]
  const mode = isRule ? choice['mode'] : choice
  const allowed = isRule
    ? offered.filter((tool) => objectsOf(choice['tools']).some((named) => isSameTool(named, tool)))
    : offered
  const asked = words.filter(({ name }) => Object.hasOwn(usualTools, name))
  if (mode !== 'none' && !hasOutput && asked.length > 0) {
    return asked.map(({ name, variant }) => ({ tool: askedTool(name, allowed), fails: variant === 'failed' }))
  }
  if (mode === 'required' && offered.length === 0) {
    throw wrongChoice("Tool choice 'required' must be specified with 'tools' parameter.")
  }
  const kind = mode === 'none' || mode === 'required' ? mode : 'auto'
  const chosen = chooseCalls(kind, allowed, namesOf, { prompt, hasOutput })
  return chosen.map((tool) => ({ tool, fails: false }))
}

function wrongChoice(message: string, more?: { readonly code: string }): RequestProblem {
  return new RequestProblem(400, message, { param: 'tool_choice', ...more })
}

/** What a prompt may call a tool; nothing for a tool that the sandbox never calls. */
function namesOf(tool: JsonObject): readonly string[] {
  if (tool['type'] === 'function' || tool['type'] === 'custom') return [textOf(tool['name'])]
  const kind = kindOfTool(tool)
  if (kind === undefined) return []
  return kind === 'mcp' ? [kind, labelOf(tool), ...remoteToolNames(tool)] : [kind]
}

function forcedBy(choice: JsonObject, offered: readonly JsonObject[]): JsonObject {
  const tool = offered.find((one) => isSameTool(choice, one))
  const name = textOf(choice['name'])
  if (tool === undefined) {
    const shown = (name || textOf(choice['type'])).slice(0, 100)
    throw wrongChoice(`Tool choice '${shown}' not found in 'tools' parameter.`, { code: 'invalid_value' })
  }
  // The choice may name one tool of a remote server.
  return kindOfTool(tool) === 'mcp' && name !== '' ? { ...tool, name } : tool
}

function isSameTool(choice: JsonObject, tool: JsonObject): boolean {
  const kind = kindOfTool(choice)
  if (kind === undefined) return choice['type'] === tool['type'] && choice['name'] === tool['name']
  const label = choice['server_label']
  return kind === kindOfTool(tool) && (label === undefined || label === tool['server_label'])
}

const screen = { display_width: 1024, display_height: 768, environment: 'browser' }
const server = { type: 'mcp', server_label: 'sandbox' }

/** Tools that a scenario may ask for without an offer in the request. */
const usualTools: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(builtInKinds.map((type) => [type, { type }])),
  function: { type: 'function', name: 'get_weather', parameters: oneText('city') },
  custom: { type: 'custom', name: 'take_note' },
  image_generation: { type: 'image_generation', partial_images: 1 },
  mcp: { ...server, require_approval: 'never' },
  approval: { ...server, require_approval: 'always' },
  computer: { type: 'computer_use_preview', ...screen },
}

/** The tool that the word of a scenario means: an offered one of its kind, or else the usual one. */
function askedTool(name: string, offered: readonly JsonObject[]): JsonObject {
  const kindOf = (tool: JsonObject) => kindOfTool(tool) ?? tool['type']
  const usual = usualTools[name]!
  const tool = offered.find((one) => kindOf(one) === kindOf(usual)) ?? usual
  return name === 'approval' ? { ...tool, require_approval: 'always' } : tool
}
