import { field, flag, list, number, object, text, whole, type Endpoint, type Fields } from './field.ts'

/** Extra output that can be requested (specification, endpoint 2, `include`). */
const includeValues = [
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
] as const

/** Fields of a request to create a response, with the specification's ranges (endpoint 2 and Limits). */
export const responseFields: Fields = {
  model: text('model id'),
  input: field(['string', 'array'], 'text, image or file input'),
  instructions: text('system or developer message; not carried over with --previous-response-id', {
    nullable: true,
  }),
  previous_response_id: text('id of the response to continue; not together with --conversation', {
    nullable: true,
  }),
  conversation: field(['string', 'object'], 'conversation that input and output items are appended to'),
  metadata: object('names and values kept with the response'),
  top_logprobs: whole('log probabilities per token', { min: 0, max: 20 }),
  temperature: number('randomness of the answer; adjust this or --top-p, not both', {
    nullable: true,
    min: 0,
    max: 2,
    default: 1,
  }),
  top_p: number('nucleus sampling: share of probability kept', {
    nullable: true,
    min: 0,
    max: 1,
    default: 1,
  }),
  user: text('end-user identifier', { deprecated: '--safety-identifier and --prompt-cache-key' }),
  safety_identifier: text('stable end-user identifier; hash it'),
  prompt_cache_key: text('cache-grouping key'),
  service_tier: text('service tier', { values: ['default', 'scale'] }),
  reasoning: object('reasoning configuration, for reasoning-capable models only', {
    effort: text('how much to reason', {
      nullable: true,
      flag: 'reasoning-effort',
      known: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    }),
    summary: text('summary of the reasoning', {
      nullable: true,
      flag: 'reasoning-summary',
      known: ['auto', 'concise', 'detailed'],
    }),
  }),
  background: flag('run in the background', { nullable: true, default: false }),
  max_output_tokens: whole('upper bound of visible and reasoning tokens', { nullable: true, min: 1 }),
  max_tool_calls: whole('built-in tool calls allowed in all', { nullable: true, min: 0 }),
  text: object('text output configuration: plain or structured', {
    format: object(
      'format of the answer',
      {
        type: text('kind of format', {
          required: true,
          flag: false,
          known: ['text', 'json_schema', 'json_object'],
        }),
      },
      { flag: 'text-format' },
    ),
    verbosity: text('length of the answer', { nullable: true, known: ['low', 'medium', 'high'] }),
  }),
  tools: list(
    'tools the model may use',
    object('a tool', { type: text('kind of tool', { required: true }) }),
  ),
  tool_choice: field(['string', 'object'], 'whether and which tool is called', {
    values: ['none', 'auto', 'required'],
  }),
  prompt: field(['string', 'object'], 'prompt text'),
  truncation: text('what happens when the input exceeds the context window', {
    nullable: true,
    values: ['auto', 'disabled'],
    default: 'disabled',
  }),
  include: list('extra output to return', text('an extra', { values: includeValues }), { nullable: true }),
  parallel_tool_calls: flag('allow parallel tool calls', { nullable: true, default: true }),
  store: flag('keep the response for later retrieval', { nullable: true, default: true }),
  stream: flag('send server-sent events', { nullable: true, default: false }),
  stream_options: object(
    'stream options; only while streaming',
    {
      include_obfuscation: flag('pad events against traffic analysis'),
    },
    { nullable: true },
  ),
}

export const responsesEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1/responses',
  envelope: 'openai',
  fields: responseFields,
  rules: [
    {
      kind: 'exclusive',
      fields: ['previous_response_id', 'conversation'],
      about: 'previous_response_id cannot be combined with conversation',
    },
    {
      kind: 'exclusive',
      advice: true,
      fields: ['temperature', 'top_p'],
      about: 'adjust temperature or top_p, not both',
    },
    {
      kind: 'requires',
      field: 'stream_options',
      other: 'stream',
      values: [true],
      about: 'stream_options applies only when stream is true',
    },
  ],
}

/** The path of one response; public practice, as the specification has no look-up of it. */
export const responsePath = `${responsesEndpoint.path}/{response_id}`
