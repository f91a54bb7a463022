import { imageCreateEndpoint } from '../../contract/images.ts'
import { responsesEndpoint } from '../../contract/responses.ts'
import { assertToolCount } from '../answer/answer.ts'
import { assertValid, invalidField, missingField } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import { imageModelOf, imageRequestOf, kindOfTool, remoteToolNames } from './tools.ts'

/** Checks a body against the table, and objects inside it against public practice; other fields of them are allowed. */
export function checkRequest(body: JsonObject): void {
  assertValid(responsesEndpoint, body)
  const { tool_choice: choice, conversation } = body
  const tools = objectsOf(body['tools'])
  const choices = listOf(objectOf(choice)['tools'])
  const remote = tools.filter(({ type }) => type === 'mcp').flatMap(remoteToolNames)
  assertToolCount(tools.length + choices.length + remote.length)
  for (const [index, item] of listOf(body['input']).entries()) checkItem(item, `input[${index}]`)
  for (const [index, tool] of tools.entries()) checkTool(tool, `tools[${index}]`)
  if (isObject(choice) && (kindOfTool(choice) ?? 'mcp') === 'mcp') {
    checkKind(choice, 'tool_choice', choiceKinds)
  }
  const { format } = objectOf(body['text'])
  if (isObject(format)) checkKind(format, 'text.format', formatKinds)
  checkMetadata(objectOf(body['metadata']))
  if (isObject(conversation)) checkFields(conversation, 'conversation', ['id'])
}

/** Kinds of objects by their `type`, with the fields that each has to have, `a|b` for either (wire notes, section 2). */
type Kinds = Readonly<Record<string, readonly string[]>>

/** @param kind where the object may leave out its `type` */
function checkKind(value: unknown, path: string, kinds: Kinds, kind?: string): void {
  if (!isObject(value)) throw invalidField(path, 'must be an object')
  const name = kind ?? value['type']
  if (name === undefined) throw missingField(`${path}.type`)
  if (typeof name !== 'string' || !Object.hasOwn(kinds, name)) {
    throw invalidField(`${path}.type`, `must be one of ${Object.keys(kinds).join(', ')}`)
  }
  checkFields(value, path, kinds[name]!)
}

function checkFields(value: JsonObject, path: string, fields: readonly string[]): void {
  const isMissing = (name: string) => (value[name] ?? null) === null
  const missing = fields.find((field) => field.split('|').every(isMissing))
  if (missing === undefined) return
  if (!missing.includes('|')) throw missingField(`${path}.${missing}`)
  throw invalidField(path, `must have '${missing.replaceAll('|', "' or '")}'`)
}

function checkItem(item: unknown, path: string): void {
  const { type, role, id, content, output } = objectOf(item)
  // A message and a reference to an item may leave their type out.
  const implied = role !== undefined ? 'message' : id !== undefined ? 'item_reference' : undefined
  const kind = typeof type === 'string' ? type : implied
  checkKind(item, path, itemKinds, kind)
  if (kind !== 'message') return checkParts(output, `${path}.output`, inputParts)
  if (!roles.includes(textOf(role))) throw invalidField(`${path}.role`, `must be one of ${roles.join(', ')}`)
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidField(`${path}.content`, 'must be text or a list of parts')
  }
  checkParts(content, `${path}.content`, role === 'assistant' ? outputParts : inputParts)
}

function checkParts(list: unknown, path: string, kinds: Kinds): void {
  for (const [index, value] of listOf(list).entries()) {
    const at = `${path}[${index}]`
    checkKind(value, at, kinds)
    const { image_url: image, file_data: data } = objectOf(value)
    if (typeof image === 'string' && !imageUrl.test(image)) {
      const problem = 'must be an http(s) URL or a base64 data URL of a png, jpeg, webp or gif image'
      throw invalidField(`${at}.image_url`, problem)
    }
    if (typeof data !== 'string') continue
    if (!fileData.test(data)) throw invalidField(`${at}.file_data`, 'must be a base64 data URL')
    checkFields(objectOf(value), at, ['filename'])
  }
}

const imageUrl = /^(https?:\/\/[^\s/]|data:image\/(png|jpe?g|webp|gif);base64,.)/i
const fileData = /^data:[^,;]+(;[^,;]+)*;base64,./i

function checkTool(tool: JsonObject, path: string): void {
  const { type, name } = tool
  const kind = typeof type === 'string' ? type.replace(/_20\d\d_\d\d_\d\d$/, '') : undefined
  checkKind(tool, path, toolKinds, kind)
  if ((type === 'function' || type === 'custom') && !/^[\w-]+$/.test(textOf(name))) {
    throw invalidField(`${path}.name`, 'must have only letters, digits, underscores and dashes')
  }
  if (type !== 'image_generation') return
  // Without a stream there are no previews, which is no mistake here.
  const streams = tool['partial_images'] === undefined ? {} : { stream: true }
  const request = { ...imageRequestOf(tool), ...streams, prompt: 'a picture' }
  assertValid(imageCreateEndpoint, request, imageModelOf(tool), `${path}.`)
}

function checkMetadata(metadata: JsonObject): void {
  const entries = Object.entries(metadata)
  if (entries.length > 16)
    throw invalidField('metadata', `must have at most 16 entries, not ${entries.length}`)
  for (const [name, value] of entries) {
    if (name.length > 64) throw invalidField('metadata', 'must have names of at most 64 characters')
    if (typeof value !== 'string' || value.length > 512)
      throw invalidField(`metadata.${name}`, 'must be text of at most 512 characters')
  }
}

const roles = ['user', 'system', 'developer', 'assistant']
const outputParts: Kinds = { output_text: ['text'], refusal: ['refusal'] }
const inputParts: Kinds = {
  input_text: ['text'],
  input_image: ['image_url|file_id'],
  input_file: ['file_id|file_data|file_url'],
}

const remoteCall = ['server_label', 'name', 'arguments']

/** The kinds of input items: messages, answers to calls, and everything that an earlier response contained. */
const itemKinds: Kinds = {
  message: ['role', 'content'],
  item_reference: ['id'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call_output: ['call_id', 'output'],
  computer_call_output: ['call_id', 'output'],
  // The public shape names the call by `id`.
  local_shell_call_output: ['output'],
  mcp_approval_response: ['approval_request_id', 'approve'],
  function_call: ['call_id', 'name', 'arguments'],
  custom_tool_call: ['call_id', 'name', 'input'],
  reasoning: ['summary'],
  file_search_call: ['id', 'queries'],
  web_search_call: ['id'],
  computer_call: ['call_id'],
  image_generation_call: ['id'],
  code_interpreter_call: ['id'],
  local_shell_call: ['call_id', 'action'],
  mcp_call: remoteCall,
  mcp_list_tools: ['server_label', 'tools'],
  mcp_approval_request: ['id', ...remoteCall],
  // What the sandbox never calls, and other gateways do.
  shell_call: ['call_id', 'action'],
  shell_call_output: ['call_id', 'output'],
  apply_patch_call: ['call_id'],
  apply_patch_call_output: ['call_id', 'status'],
  compaction: ['encrypted_content'],
}

/** The kinds of tools, without the date that some of their names end with. */
const toolKinds: Kinds = {
  function: ['name'],
  custom: ['name'],
  web_search: [],
  web_search_preview: [],
  file_search: ['vector_store_ids'],
  code_interpreter: ['container'],
  image_generation: [],
  computer: [],
  computer_use: [],
  computer_use_preview: ['display_width', 'display_height', 'environment'],
  local_shell: [],
  mcp: ['server_label', 'server_url|connector_id'],
  // Accepted, and never called by the sandbox.
  shell: [],
  apply_patch: [],
  namespace: ['name'],
  tool_search: [],
  programmatic_tool_calling: [],
}

const formatKinds: Kinds = { text: [], json_object: [], json_schema: ['name', 'schema'] }

/** The kinds of tool choices that are objects, besides the kinds of built-in tools. */
const choiceKinds: Kinds = {
  function: ['name'],
  custom: ['name'],
  mcp: ['server_label'],
  allowed_tools: ['mode', 'tools'],
}
