import { imageCreateEndpoint } from '../../contract/images.ts'
import { responsesEndpoint } from '../../contract/responses.ts'
import type { Field, Fields } from '../../contract/field.ts'
import { assertToolCount } from '../answer/answer.ts'
import { assertValid, invalidField, type RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import { imageModelOf, imageRequestOf, kindOfTool, remoteToolNames } from './tools.ts'

/**
 * Checks a body against the specification's table, and what is inside its objects against public practice.
 * @throws RequestProblem 400 that names the field, such as `input[0].content[1].image_url`
 */
export function checkRequest(body: JsonObject): void {
  assertValid(responsesEndpoint, body)
  const tools = objectsOf(body['tools'])
  const choices = listOf(objectOf(body['tool_choice'])['tools'])
  const remote = tools.filter(({ type }) => type === 'mcp').flatMap(remoteToolNames)
  assertToolCount(tools.length + choices.length + remote.length)
  for (const [index, item] of listOf(body['input']).entries()) {
    checkItem(item, `input.${index}`)
  }
  for (const [index, tool] of tools.entries()) checkTool(tool, `tools.${index}`)
  checkChoice(body['tool_choice'])
  const { format } = objectOf(body['text'])
  if (isObject(format)) checkKind(format, 'text.format', formatShapes)
  checkMetadata(objectOf(body['metadata']))
  const { conversation } = body
  if (isObject(conversation)) {
    assertShape(conversation, 'conversation', object({ id: required('string') }))
  }
}

/** `input.0.role` is shown as `input[0].role`. */
function assertShape(value: unknown, path: string, shape: Field): void {
  assertValid({ ...responsesEndpoint, fields: { [path]: shape }, rules: [] }, { [path]: value })
}

function invalid(path: string, problem: string): RequestProblem {
  return invalidField(path.replace(/\.(\d+)(?=\.|$)/g, '[$1]'), problem)
}

/** Checks an object of one of several kinds. */
function checkKind(value: unknown, path: string, shapes: Shapes, kind?: unknown): void {
  if (!isObject(value)) return assertShape(value, path, field('object'))
  const name = kind ?? value['type']
  const shape = typeof name === 'string' && Object.hasOwn(shapes, name) ? shapes[name] : undefined
  if (shape !== undefined) return assertShape(value, path, shape)
  assertShape(name, `${path}.type`, required('string', { values: Object.keys(shapes) }))
}

function checkItem(item: unknown, path: string): void {
  const entry = objectOf(item)
  const { type, role, id, content } = entry
  // A message and a reference to an item may leave their type out.
  const implied = role !== undefined ? 'message' : id !== undefined ? 'item_reference' : undefined
  const kind = type ?? implied
  checkKind(item, path, itemShapes, kind)
  if (kind === 'local_shell_call_output' && entry['id'] === undefined && entry['call_id'] === undefined) {
    assertShape(undefined, `${path}.id`, required('string'))
  }
  const parts = kind === 'message' ? content : entry['output']
  const kinds = messageParts[kind === 'message' ? textOf(role) : 'user']!
  if (!Array.isArray(parts) || !/^(message|function_call_output|custom_tool_call_output)$/.test(textOf(kind)))
    return
  const list = kind === 'message' ? 'content' : 'output'
  for (const [index, part] of parts.entries()) {
    checkPart(part, `${path}.${list}.${index}`, kinds)
  }
}

function checkPart(value: unknown, path: string, kinds: Shapes): void {
  checkKind(value, path, kinds)
  const part = objectOf(value)
  const { type, image_url: image, file_data: data, filename } = part
  const sources = partSources[textOf(type)] ?? []
  if (sources.length > 0 && sources.every((name) => (part[name] ?? null) === null)) {
    throw invalid(path, `must have ${sources.map((name) => `'${name}'`).join(' or ')}`)
  }
  if (typeof image === 'string' && !imageUrl.test(image)) {
    throw invalid(
      `${path}.image_url`,
      'must be an http(s) URL or a base64 data URL of a png, jpeg, webp or gif image',
    )
  }
  if (typeof data !== 'string') return
  if (!fileData.test(data)) throw invalid(`${path}.file_data`, 'must be a base64 data URL')
  if (textOf(filename) === '') assertShape(undefined, `${path}.filename`, required('string'))
}

const imageUrl = /^(https?:\/\/[^\s/]|data:image\/(png|jpe?g|webp|gif);base64,.)/i
const fileData = /^data:[^,;]+(;[^,;]+)*;base64,./i

const datedName = /_20\d\d_\d\d_\d\d$/

function checkTool(tool: JsonObject, path: string): void {
  const type = textOf(tool['type'])
  checkKind(tool, path, toolShapes, type.replace(datedName, ''))
  const { name } = tool
  if ((type === 'function' || type === 'custom') && !/^[\w-]+$/.test(textOf(name))) {
    throw invalid(`${path}.name`, 'must have only letters, digits, underscores and dashes')
  }
  if (type === 'mcp' && tool['server_url'] === undefined && tool['connector_id'] === undefined) {
    throw invalid(path, "must have 'server_url' or 'connector_id'")
  }
  if (type !== 'image_generation') return
  // Without a stream there are no previews, which is no mistake here.
  const streams = tool['partial_images'] === undefined ? {} : { stream: true }
  const request = { ...imageRequestOf(tool), ...streams, prompt: 'a picture' }
  assertValid(imageCreateEndpoint, request, imageModelOf(tool), `${path}.`)
}

function checkChoice(choice: unknown): void {
  if (!isObject(choice) || (kindOfTool(choice) !== undefined && choice['type'] !== 'mcp')) return
  checkKind(choice, 'tool_choice', choiceShapes)
}

function checkMetadata(metadata: JsonObject): void {
  const entries = Object.entries(metadata)
  const { entries: max, name: maxName, value: maxValue } = metadataLimits
  if (entries.length > max)
    throw invalid('metadata', `must have at most ${max} entries, not ${entries.length}`)
  for (const [name, value] of entries) {
    if (name.length > maxName) throw invalid('metadata', `must have names of at most ${maxName} characters`)
    assertShape(value, `metadata.${name}`, field('string', { maxLength: maxValue }))
  }
}

/**
 * What public practice requires of the objects whose shape the specification does not show (wire notes, section 2).
 * Other fields of them are allowed.
 */

type Facts = Partial<Omit<Field, 'type' | 'about' | 'required'>>

function field(type: Field['type'], facts: Facts = {}): Field {
  return { type, about: '', ...facts }
}

function required(type: Field['type'], facts: Facts = {}): Field {
  return { ...field(type, facts), required: true }
}

function object(fields: Fields): Field {
  return field('object', { fields })
}

const text = field('string', { nullable: true })
const callId = required('string', { minLength: 1, maxLength: 64 })
/** Characters of the output of a tool. */
const maxOutput = 10_485_760
const outputText = required(['string', 'array'], { maxLength: maxOutput })
const detail = field('string', { nullable: true, values: ['low', 'high', 'auto', 'original'] })

const inputParts = {
  input_text: object({ text: required('string') }),
  input_image: object({ image_url: text, file_id: text, detail }),
  input_file: object({ file_id: text, file_data: text, file_url: text, filename: text }),
}
const outputParts = {
  output_text: object({ text: required('string'), annotations: field('array', { nullable: true }) }),
  refusal: object({ refusal: required('string') }),
}

type Shapes = Readonly<Record<string, Field>>

/** Roles of a message, and the kinds of parts that messages of each have. */
const messageParts: Readonly<Record<string, Shapes>> = {
  user: inputParts,
  system: inputParts,
  developer: inputParts,
  assistant: outputParts,
}

/** Of these fields a part has at least one. */
const partSources: Readonly<Record<string, readonly string[]>> = {
  input_image: ['image_url', 'file_id'],
  input_file: ['file_id', 'file_data', 'file_url'],
}

const remoteCall = {
  server_label: required('string'),
  name: required('string'),
  arguments: required('string'),
}

/** The kinds of input items: messages, answers to calls, and everything that an earlier response contained. */
const itemShapes: Shapes = {
  message: object({
    role: required('string', { values: Object.keys(messageParts) }),
    content: required(['string', 'array']),
  }),
  item_reference: object({ id: required('string') }),
  function_call_output: object({ call_id: callId, output: outputText }),
  custom_tool_call_output: object({ call_id: callId, output: outputText }),
  computer_call_output: object({
    call_id: callId,
    output: {
      ...object({
        type: required('string', { values: ['computer_screenshot', 'input_image'] }),
        image_url: text,
        file_id: text,
      }),
      required: true,
    },
  }),
  // The public shape names the call by `id`.
  local_shell_call_output: object({
    id: field('string'),
    call_id: field('string'),
    output: required('string', { maxLength: maxOutput }),
  }),
  shell_call_output: object({ call_id: callId, output: required('array') }),
  apply_patch_call_output: object({ call_id: callId, status: required('string') }),
  mcp_approval_response: object({ approval_request_id: required('string'), approve: required('boolean') }),
  function_call: object({ call_id: callId, name: required('string'), arguments: required('string') }),
  custom_tool_call: object({ call_id: callId, name: required('string'), input: required('string') }),
  reasoning: object({ id: field('string'), summary: required('array') }),
  file_search_call: object({ id: required('string'), queries: required('array') }),
  web_search_call: object({ id: required('string') }),
  computer_call: object({ call_id: callId }),
  image_generation_call: object({ id: required('string') }),
  code_interpreter_call: object({ id: required('string') }),
  local_shell_call: object({ call_id: callId, action: required('object') }),
  mcp_call: object(remoteCall),
  mcp_list_tools: object({ server_label: required('string'), tools: required('array') }),
  mcp_approval_request: object({ id: required('string'), ...remoteCall }),
  shell_call: object({ call_id: callId, action: required('object') }),
  apply_patch_call: object({ call_id: callId }),
  compaction: object({ encrypted_content: required('string') }),
}

const functionName = required('string', { minLength: 1, maxLength: 128 })
const webSearch = object({
  search_context_size: field('string', { nullable: true, values: ['low', 'medium', 'high'] }),
  filters: field('object', { nullable: true }),
  user_location: field('object', { nullable: true }),
})

/** The kinds of tools, without the date that some of their names end with. */
const toolShapes: Shapes = {
  function: object({
    name: functionName,
    parameters: field('object', { nullable: true }),
    strict: field('boolean', { nullable: true }),
    description: text,
  }),
  custom: object({ name: functionName, description: text, format: field('object', { nullable: true }) }),
  web_search: webSearch,
  web_search_preview: webSearch,
  file_search: object({
    vector_store_ids: required('array', { minLength: 1, items: field('string') }),
    max_num_results: field('integer', { min: 1, max: 50 }),
  }),
  code_interpreter: object({ container: required(['string', 'object']) }),
  image_generation: object({}),
  computer: object({}),
  computer_use: object({}),
  computer_use_preview: object({
    display_width: required('integer', { min: 1 }),
    display_height: required('integer', { min: 1 }),
    environment: required('string'),
  }),
  local_shell: object({}),
  shell: object({ environment: field('object', { nullable: true }) }),
  mcp: object({
    server_label: required('string', { minLength: 1 }),
    server_url: field('string'),
    connector_id: field('string'),
    allowed_tools: field(['array', 'object'], { nullable: true }),
    require_approval: field(['string', 'object'], { nullable: true, values: ['always', 'never'] }),
  }),
  // Accepted, and never called by the sandbox.
  apply_patch: object({}),
  namespace: object({ name: functionName }),
  tool_search: object({}),
  programmatic_tool_calling: object({}),
}

/** The kinds of formats of the answer. */
const formatShapes: Shapes = {
  text: object({}),
  json_object: object({}),
  json_schema: object({
    name: required('string', { minLength: 1, maxLength: 64 }),
    schema: required('object'),
    strict: field('boolean', { nullable: true }),
    description: text,
  }),
}

/** The kinds of tool choices that are objects, besides the kinds of built-in tools. */
const choiceShapes: Shapes = {
  function: object({ name: functionName }),
  custom: object({ name: functionName }),
  mcp: object({ server_label: required('string'), name: text }),
  allowed_tools: object({
    mode: required('string', { values: ['auto', 'required'] }),
    tools: required('array', { items: object({ type: required('string') }) }),
  }),
}

/** Names and values kept with a response: at most 16, of 64 and 512 characters. */
const metadataLimits = { entries: 16, name: 64, value: 512 } as const
