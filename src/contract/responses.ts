import type { Endpoint, Fields } from './field.ts'

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
  model: { type: 'string', about: 'model id' },
  input: { type: ['string', 'array'], about: 'text, image or file input' },
  instructions: {
    type: 'string',
    nullable: true,
    about: 'system or developer message; not carried over with --previous-response-id',
  },
  previous_response_id: {
    type: 'string',
    nullable: true,
    about: 'id of the response to continue; not together with --conversation',
  },
  conversation: {
    type: ['string', 'object'],
    about: 'conversation that input and output items are appended to',
  },
  metadata: {
    type: 'object',
    about: 'names and values kept with the response',
  },
  top_logprobs: { type: 'integer', min: 0, max: 20, about: 'log probabilities per token' },
  temperature: {
    type: 'number',
    nullable: true,
    min: 0,
    max: 2,
    default: 1,
    about: 'randomness of the answer; adjust this or --top-p, not both',
  },
  top_p: {
    type: 'number',
    nullable: true,
    min: 0,
    max: 1,
    default: 1,
    about: 'nucleus sampling: share of probability kept',
  },
  user: {
    type: 'string',
    deprecated: '--safety-identifier and --prompt-cache-key',
    about: 'end-user identifier',
  },
  safety_identifier: { type: 'string', about: 'stable end-user identifier; hash it' },
  prompt_cache_key: { type: 'string', about: 'cache-grouping key' },
  service_tier: { type: 'string', values: ['default', 'scale'], about: 'service tier' },
  reasoning: {
    type: 'object',
    about: 'reasoning configuration, for reasoning-capable models only',
    fields: {
      effort: {
        type: 'string',
        nullable: true,
        flag: 'reasoning-effort',
        known: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
        about: 'how much to reason',
      },
      summary: {
        type: 'string',
        nullable: true,
        flag: 'reasoning-summary',
        known: ['auto', 'concise', 'detailed'],
        about: 'summary of the reasoning',
      },
    },
  },
  background: { type: 'boolean', nullable: true, default: false, about: 'run in the background' },
  max_output_tokens: {
    type: 'integer',
    nullable: true,
    min: 1,
    about: 'upper bound of visible and reasoning tokens',
  },
  max_tool_calls: { type: 'integer', nullable: true, min: 0, about: 'built-in tool calls allowed in all' },
  text: {
    type: 'object',
    about: 'text output configuration: plain or structured',
    fields: {
      format: {
        type: 'object',
        flag: 'text-format',
        about: 'format of the answer',
        fields: {
          type: {
            type: 'string',
            required: true,
            flag: false,
            known: ['text', 'json_schema', 'json_object'],
            about: 'kind of format',
          },
        },
      },
      verbosity: {
        type: 'string',
        nullable: true,
        known: ['low', 'medium', 'high'],
        about: 'length of the answer',
      },
    },
  },
  tools: {
    type: 'array',
    about: 'tools the model may use',
    items: {
      type: 'object',
      about: 'a tool',
      fields: { type: { type: 'string', required: true, about: 'kind of tool' } },
    },
  },
  tool_choice: {
    type: ['string', 'object'],
    values: ['none', 'auto', 'required'],
    about: 'whether and which tool is called',
  },
  prompt: { type: ['string', 'object'], about: 'prompt text' },
  truncation: {
    type: 'string',
    nullable: true,
    values: ['auto', 'disabled'],
    default: 'disabled',
    about: 'what happens when the input exceeds the context window',
  },
  include: {
    type: 'array',
    nullable: true,
    items: { type: 'string', values: includeValues, about: 'an extra' },
    about: 'extra output to return',
  },
  parallel_tool_calls: { type: 'boolean', nullable: true, default: true, about: 'allow parallel tool calls' },
  store: { type: 'boolean', nullable: true, default: true, about: 'keep the response for later retrieval' },
  stream: { type: 'boolean', nullable: true, default: false, about: 'send server-sent events' },
  stream_options: {
    type: 'object',
    nullable: true,
    about: 'stream options; only while streaming',
    fields: {
      include_obfuscation: { type: 'boolean', about: 'pad events against traffic analysis' },
    },
  },
}

/** Endpoint 2 of the specification: create a response. */
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
