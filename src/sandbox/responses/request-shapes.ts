import type { Field, Fields } from '../../contract/field.ts'

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

/** Roles of a message, and the kinds of parts that messages of each have. */
export const messageParts: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  user: inputParts,
  system: inputParts,
  developer: inputParts,
  assistant: outputParts,
}

/** Of these fields a part has at least one. */
export const partSources: Readonly<Record<string, readonly string[]>> = {
  input_image: ['image_url', 'file_id'],
  input_file: ['file_id', 'file_data', 'file_url'],
}

const remoteCall = {
  server_label: required('string'),
  name: required('string'),
  arguments: required('string'),
}

/** The kinds of input items: messages, answers to calls, and everything that an earlier response contained. */
export const itemShapes: Readonly<Record<string, Field>> = {
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
export const toolShapes: Readonly<Record<string, Field>> = {
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
export const formatShapes: Readonly<Record<string, Field>> = {
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
export const choiceShapes: Readonly<Record<string, Field>> = {
  function: object({ name: functionName }),
  custom: object({ name: functionName }),
  mcp: object({ server_label: required('string'), name: text }),
  allowed_tools: object({
    mode: required('string', { values: ['auto', 'required'] }),
    tools: required('array', { items: object({ type: required('string') }) }),
  }),
}

/** Names and values kept with a response: at most 16, of 64 and 512 characters. */
export const metadataLimits = { entries: 16, name: 64, value: 512 } as const
