import { expect, test } from 'vitest'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import { decode as decodeWith, eventsOf } from '../decode.ts'

const decode = (messages: readonly unknown[], options?: { marked: boolean }) =>
  decodeWith(createResponseDecoder, messages, options)

const delta = (text: string, more: object = {}) => {
  return { type: 'response.output_text.delta', delta: text, ...more }
}
const message = (text: string, more: object = {}) => {
  return { type: 'message', content: [{ type: 'output_text', text, ...more }] }
}
const whole = (more: object = {}) => ({ id: 'resp_1', object: 'response', status: 'completed', ...more })
const completed = (more: object = {}) => ({ type: 'response.completed', response: whole(more) })
const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }
const itemDone = (item: unknown, output_index = 0) => {
  return { type: 'response.output_item.done', output_index, item }
}

test('joins text deltas, and shows nothing twice', () => {
  const decoded = decode([
    created,
    delta('Hel', { output_index: 1, content_index: 0, item_id: 'a' }),
    delta('lo', { output_index: 1, content_index: 0, item_id: 'b' }),
    { type: 'response.output_text.done', output_index: 1, text: 'Hello' },
    { type: 'response.content_part.done', output_index: 1, part: { type: 'output_text', text: 'Hello' } },
    itemDone(message('Hello'), 1),
    completed({ output: [{ type: 'reasoning', summary: [] }, message('Hello')], output_text: 'Hello' }),
  ])
  expect(decoded).toMatchObject({ verdict: 'ok', state: 'settled' })
  expect(eventsOf(decoded, 'text-delta').map(({ text }) => text)).toEqual(['Hel', 'lo'])
  expect(decoded.result).toMatchObject({
    text: 'Hello',
    candidates: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
    finish_reason: 'stop',
    response_id: 'resp_1',
  })
})

test('joins the events of an item by position though its id changes', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' }
  const decoded = decode([
    { type: 'response.output_item.added', output_index: 2, item: { ...call, id: 'x1', arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 2, item_id: 'x2', delta: '{"a"' },
    { type: 'response.function_call_arguments.delta', output_index: 2, item_id: 'x3', delta: ':1}' },
    itemDone({ ...call, id: 'x4' }, 2),
    completed({ output: [{ ...call, id: 'x5' }] }),
  ])
  expect(decoded.events).toEqual([
    { type: 'tool-delta', index: 2, name: 'f', arguments: '{"a"' },
    { type: 'tool-delta', index: 2, name: 'f', arguments: ':1}' },
    { type: 'tool-call', index: 2, call: { type: 'function', id: 'c', name: 'f', arguments: { a: 1 } } },
  ])
  expect(decoded).toMatchObject({ verdict: 'ok', result: { finish_reason: 'tool_calls' } })
})

test.for([
  ['only the finished item', [created, itemDone(message('Hello')), completed()]],
  ['only the finished text', [created, { type: 'response.output_text.done', text: 'Hello' }, completed()]],
  [
    'the finished text and the item',
    [{ type: 'response.output_text.done', text: 'Hello' }, itemDone(message('Hello')), completed()],
  ],
  ['only the response at the end', [completed({ output: [message('Hello')] })]],
  ['the output beside an empty output_text', [completed({ output: [message('Hello')], output_text: '' })]],
  ['output_text at the top level', [completed({ output: [], output_text: 'Hello' })]],
  ['a first part in deltas', [delta('Hel'), completed({ output: [message('Hello')] })]],
  [
    'a call among the finished items',
    [
      itemDone({ type: 'web_search_call' }),
      completed({ output: [{ type: 'web_search_call' }, message('Hello')] }),
    ],
  ],
  ['a message that is plain text', [whole({ output: [{ type: 'message', content: 'Hello' }] })]],
  ['response.done', [delta('Hello'), { type: 'response.done', response: whole({ output: [] }) }]],
  ['a whole response without events', [whole({ output: [message('Hello')] })]],
  ['a whole response without object', [{ output: [message('Hel'), message('lo')] }]],
  ['a whole response in an array', [[whole({ output: [message('Hello')] })]]],
] as const)('finds the text in %s', ([, messages]) => {
  const decoded = decode(messages)
  expect(decoded).toMatchObject({ verdict: 'ok', result: { text: 'Hello', finish_reason: 'stop' } })
  expect(
    eventsOf(decoded, 'text-delta')
      .map(({ text }) => text)
      .join(''),
  ).toBe('Hello')
})

test('reads several responses in one stream', () => {
  const search = { type: 'web_search_call', status: 'completed' }
  const decoded = decode([
    created,
    delta('One. ', { output_index: 0 }),
    itemDone(message('One. ')),
    completed({ id: 'resp_1', output: [message('One. ')], usage: { total_tokens: 1 } }),
    { type: 'response.created', response: { id: 'resp_2', status: 'in_progress' } },
    itemDone(search, 0),
    delta('Two.', { output_index: 1 }),
    completed({ id: 'resp_2', output: [search, message('Two.')], usage: { total_tokens: 2 } }),
  ])
  expect(decoded).toMatchObject({
    verdict: 'ok',
    result: { text: 'One. Two.', response_id: 'resp_2', usage: { total_tokens: 2 } },
  })
  expect(eventsOf(decoded, 'item-add')).toHaveLength(1)
})

test('a second response without an end is a truncation', () => {
  const decoded = decode([delta('One.'), completed(), created, delta('Two.')])
  expect(decoded).toMatchObject({ state: 'open', verdict: 'unknown: connection_lost' })
})

test('an end that no event tells is a truncation, unless the stream was closed with a mark', () => {
  const messages = [created, delta('a')]
  expect(decode(messages)).toMatchObject({ state: 'open', verdict: 'unknown: connection_lost' })
  expect(decode(messages).error?.facts.remoteId).toBe('resp_1')
  expect(decode(messages, { marked: true }).verdict).toBe('ok')
})

test.for([
  ['completed', undefined, 'stop', 'ok'],
  ['complete', undefined, 'stop', 'ok'],
  [null, undefined, 'stop', 'ok'],
  ['incomplete', 'max_output_tokens', 'length', 'ok'],
  ['incomplete', undefined, 'length', 'ok'],
  ['incomplete', 'time_budget', 'unknown', 'ok'],
  ['incomplete', 'content_filter', 'content_filter', 'failed: content_refused'],
  ['cancelled', undefined, 'cancelled', 'failed: generation_failed'],
  ['failed', undefined, 'error', 'failed: error_in_reply'],
  ['queued', undefined, 'unknown', 'running: still_running'],
  ['a_word_of_2030', undefined, 'unknown', 'ok'],
] as const)('a whole reply with status %s (%s) is %s: %s', ([status, reason, finish, verdict]) => {
  const decoded = decode([whole({ status, incomplete_details: { reason }, output: [message('Some text')] })])
  expect(decoded.result).toMatchObject({ text: 'Some text', finish_reason: finish })
  expect(decoded.verdict).toBe(verdict)
})

test.for([
  ['response.completed', 'stop', 'ok'],
  ['response.incomplete', 'length', 'ok'],
  ['response.cancelled', 'cancelled', 'failed: generation_failed'],
  ['response.failed', 'error', 'failed: error_in_reply'],
])('%s tells the end without a status', ([type, finish, verdict]) => {
  const decoded = decode([delta('a'), { type, response: {} }])
  expect(decoded).toMatchObject({ verdict, state: 'settled', result: { finish_reason: finish } })
})

test.for([
  ['incomplete', 'failed: no_text_before_limit'],
  ['completed', 'failed: nothing_generated'],
])('no text at all and %s: %s', ([status, verdict]) => {
  const empty = [[message('')], [{ type: 'message', content: null }], [{ type: 'reasoning' }]]
  for (const output of [undefined, null, [], ...empty]) {
    expect(decode([whole({ status, output })]).verdict).toBe(verdict)
  }
})

test('a refusal is a failure, and shown', () => {
  const streamed = decode([
    { type: 'response.refusal.delta', delta: 'I can' },
    { type: 'response.refusal.delta', delta: 'not.' },
    { type: 'response.refusal.done', refusal: 'I cannot.' },
    completed(),
  ])
  const once = decode([
    whole({ output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] }] }),
  ])
  for (const decoded of [streamed, once]) {
    expect(decoded.verdict).toBe('failed: content_refused')
    expect(decoded.result).toMatchObject({ refusal: 'I cannot.', text: '', finish_reason: 'refusal' })
  }
  // Beside a text, which stays a result.
  expect(decode([delta('a'), { type: 'response.refusal.delta', delta: 'b' }, completed()]).verdict).toBe('ok')
})

test('shows the parts of a summary and the reasoning itself as paragraphs, once', () => {
  const item = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Brief' }, { text: 'Short' }],
    content: [{ type: 'reasoning_text', text: 'Long' }],
  }
  const streamed = decode([
    { type: 'response.reasoning_summary_part.added' },
    { type: 'response.reasoning_summary_text.delta', delta: 'Brief' },
    { type: 'response.reasoning_summary_part.added' },
    { type: 'response.reasoning_summary_text.delta', delta: 'Short' },
    { type: 'response.content_part.added', part: { type: 'reasoning_text', text: '' } },
    { type: 'response.reasoning_text.delta', delta: 'Long' },
    itemDone(item),
    completed(),
  ])
  expect(streamed.result.reasoning).toBe('Brief\n\nShort\n\nLong')
  expect(decode([whole({ output: [item] })]).result.reasoning).toBe('Brief\n\nShort\n\nLong')
})

test.for([
  [{ type: 'error', code: 'server_error', message: 'It broke.', param: null }, 'server_error'],
  [{ type: 'upstream_error', error: { message: 'It broke.' } }, 'error_in_reply'],
  [{ type: 'response.error', error: { message: 'It broke.' } }, 'error_in_reply'],
  [{ error: { code: 502, message: 'It broke.' } }, 'error_in_reply'],
  [[{ error: { message: 'It broke.' } }], 'error_in_reply'],
  [{ type: 'response.failed', response: whole({ error: { message: 'It broke.' } }) }, 'error_in_reply'],
  [whole({ status: 'failed', error: { code: 'rate_limit', message: 'It broke.' } }), 'rate_limit'],
] as const)('an error is a failure in every form: %j', ([error, code]) => {
  expect(decode([created, delta('Some'), error])).toMatchObject({
    state: 'settled',
    verdict: `failed: ${code}`,
    result: { text: 'Some', finish_reason: 'error' },
    error: {
      message: 'The gateway reported an error: It broke.',
      facts: { remoteId: 'resp_1', billed: 'maybe' },
    },
  })
})

test('a response that its end does not name is the one that was created', () => {
  const failed = { type: 'response.failed', response: { status: 'failed', error: { message: 'No.' } } }
  const decoded = decode([created, failed])
  expect(decoded.error?.facts.remoteId).toBe('resp_1')
  expect(decoded.result.response_id).toBe('resp_1')
})

test('the failed response after an error event tells more', () => {
  const response = { id: 'resp_1', error: { code: 'server_error', message: 'It broke badly.' } }
  const first = { type: 'error', error: { message: 'It broke.' } }
  expect(decode([created, first, { type: 'response.failed', response }]).error).toMatchObject({
    code: 'server_error',
    message: 'The gateway reported an error: It broke badly.',
  })
})

test('an error without any content is none', () => {
  for (const error of [null, {}, { code: '', message: '' }]) {
    expect(decode([completed({ output: [message('a')], error })]).verdict).toBe('ok')
  }
})

const call = (call_id: string, args: unknown) => {
  return { type: 'function_call', name: 'f', call_id, arguments: args }
}
const added = (item: object) => ({ type: 'response.output_item.added', output_index: 0, item })
const argsDelta = (delta: string, output_index = 0) => {
  return { type: 'response.function_call_arguments.delta', output_index, delta }
}

test.for([
  ['that never ends', [added(call('c', '')), argsDelta('{"a"'), argsDelta(':1}'), completed()]],
  ['that ends empty', [added(call('c', '')), argsDelta('{"a":1}'), itemDone(call('c', '')), completed()]],
  [
    'whose text comes at once',
    [
      added(call('c', '')),
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"a":1}' },
      completed(),
    ],
  ],
  ['that is an object', [itemDone(call('c', { a: 1 })), completed()]],
  ['that is told twice', [itemDone(call('c', '{"a":1}')), itemDone(call('c', '{"a":1}')), completed()]],
] as const)('finds the arguments of a call %s', ([, messages]) => {
  const decoded = decode([created, ...messages])
  expect(decoded).toMatchObject({ verdict: 'ok', result: { finish_reason: 'tool_calls' } })
  expect(decoded.result.tool_calls).toEqual([{ type: 'function', id: 'c', name: 'f', arguments: { a: 1 } }])
})

test('makes no call of arguments that broke off', () => {
  for (const status of ['failed', 'incomplete', 'cancelled']) {
    const end = { type: `response.${status}`, response: { status, error: null, output: [] } }
    const messages = [added(call('c', '')), argsDelta('{"a":'), end]
    expect(decode([created, ...messages]).result.tool_calls).toEqual([])
  }
})

test('takes items for different ones where all have the same position', () => {
  const messages = [
    added({ type: 'reasoning' }),
    itemDone({ type: 'reasoning', summary: [] }),
    added(call('1', '')),
    argsDelta('{}'),
    itemDone(call('1', '')),
    itemDone(call('2', '{}')),
    added(message('')),
    delta('Hello'),
    itemDone(message('Hello')),
  ]
  const decoded = decode([created, ...messages, completed()])
  expect(decoded.result.tool_calls.map(({ id, arguments: args }) => [id, args])).toEqual([
    ['1', {}],
    ['2', {}],
  ])
  expect(decoded.result.text).toBe('Hello')
})

test('takes nothing for the answer but the words of the assistant', () => {
  const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hm?' }] }
  const thought = { type: 'reasoning_text', text: 'Hm.' }
  const answer = { role: 'assistant', content: [thought, { type: 'output_text', text: 'Hello' }] }
  for (const messages of [
    [whole({ output: [question, answer] })],
    [created, itemDone(question, 0), itemDone(answer, 1), completed({ output: [question, answer] })],
  ]) {
    expect(decode(messages)).toMatchObject({ verdict: 'ok', result: { text: 'Hello' } })
  }
})

test('takes no count that cannot be one', () => {
  const counts = { input_tokens: -1, output_tokens: 1.5, total_tokens: 1e300 }
  for (const usage of [counts, { input_tokens: '10', output_tokens_details: null }]) {
    const counted = decode([completed({ usage })]).result.usage!
    expect(Object.values(counted)).toEqual([null, null, null, null, null])
  }
  expect(decode([completed({ usage: null })]).result.usage).toBeNull()
  const annotations = [{ type: 'url_citation', url: 'https://a.example', start_index: -1, end_index: 2 }]
  expect(decode([completed({ output: [message('a', { annotations })] })]).result.citations).toMatchObject([
    { url: 'https://a.example', start: null, end: 2 },
  ])
})

test('tells usage in the common words', () => {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 17,
  }
  expect(decode([completed({ usage })]).result.usage).toEqual({
    input_tokens: 10,
    cached_tokens: 4,
    output_tokens: 7,
    reasoning_tokens: 3,
    total_tokens: 17,
  })
})

test('cites each source once, with deltas and without', () => {
  const url = { type: 'url_citation', url: 'https://a.test', title: 'A', start_index: 1, end_index: 4 }
  const file = { type: 'file_citation', file_id: 'file_1', filename: 'a.txt', index: 3 }
  const expected = [
    { url: 'https://a.test', title: 'A', start: 1, end: 4, license: null, file_id: null },
    { url: null, title: 'a.txt', start: null, end: null, license: null, file_id: 'file_1' },
  ]
  const annotated = message('text', { annotations: [url, file, null, {}] })
  const type = 'response.output_text.annotation.added'
  const added = [url, file].map((annotation) => ({ type, annotation }))
  for (const messages of [
    [delta('text'), ...added, itemDone(annotated), completed({ output: [annotated] })],
    [delta('text'), itemDone(annotated), completed({ output: [annotated] })],
    [itemDone(annotated), completed()],
    [whole({ output: [annotated] })],
  ]) {
    const decoded = decode(messages)
    expect(decoded.result.citations).toEqual(expected)
    expect(eventsOf(decoded, 'citation-add')).toHaveLength(2)
  }
})

test.for([
  [{ type: 'file_search_call', queries: ['a', 'b'] }, 'file search tool call: a; b'],
  [{ type: 'web_search_call', action: { type: 'search', query: 'old' } }, 'web search tool call: old'],
  [{ type: 'web_search_call', action: { queries: ['new', 'er'] } }, 'web search tool call: new; er'],
  [{ type: 'web_search_call', action: { url: 'https://a.test' } }, 'web search tool call: https://a.test'],
  [{ type: 'web_search_call', status: 'failed' }, 'web search tool call (failed)'],
  [{ type: 'computer_call', action: { type: 'click' } }, 'computer tool call: click'],
  [{ type: 'computer_call', actions: [{ type: 'a' }, { type: 'b' }] }, 'computer tool call: a; b'],
  [{ type: 'code_interpreter_call', code: 'a = 1\nb = 2' }, 'code interpreter tool call: a = 1'],
  [{ type: 'local_shell_call', action: { command: ['ls', '-l', 7] } }, 'local shell call: ls -l'],
  [{ type: 'shell_call', action: { commands: ['ls', 'pwd'] } }, 'shell_call: ls; pwd'],
  [{ type: 'mcp_call', server_label: 's', name: 'f' }, 'remote tool call: s.f'],
  [{ type: 'mcp_list_tools', server_label: 's', tools: [{}, {}] }, 'remote tool list: s offers 2 tools'],
  [{ type: 'mcp_list_tools', server_label: 's', error: 'It is down.' }, 'remote tool list: s: It is down.'],
  [
    { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'f', arguments: '{"a":1}' },
    'remote tool approval request: s.f({"a":1}), id mcpr_1',
  ],
  [{ type: 'compaction', encrypted_content: 'x' }, 'compaction'],
  [{ type: 'kind_of_2030', status: 'completed' }, 'kind_of_2030'],
  [{ type: '__proto__' }, '__proto__'],
  [{ queries: 'none' }, 'item'],
] as const)('reports an item in one line and whole: %j', ([item, summary]) => {
  const decoded = decode([itemDone(item), completed({ output: [item] })])
  expect(decoded.events).toEqual([
    { type: 'item-add', kind: 'type' in item ? item.type : 'item', summary, item },
  ])
  expect(decoded.verdict).toBe('ok')
})

test('reports calls of functions and of custom tools', () => {
  const output = [
    { type: 'function_call', id: 'i', call_id: 'c', name: 'f', arguments: '{"a":[1]}' },
    { type: 'function_call', id: 'i2', name: 'g', arguments: '{"a":' },
    { type: 'function_call' },
    { type: 'custom_tool_call', call_id: 'c3', name: 'h', input: '{"a":1}' },
  ]
  const decoded = decode([whole({ output })])
  expect(decoded.result).toMatchObject({
    finish_reason: 'tool_calls',
    tool_calls: [
      { type: 'function', id: 'c', name: 'f', arguments: { a: [1] } },
      { type: 'function', id: 'i2', name: 'g', arguments: '{"a":' },
      { type: 'function', id: null, name: '', arguments: '' },
      { type: 'custom', id: 'c3', name: 'h', arguments: '{"a":1}' },
    ],
  })
  expect(eventsOf(decoded, 'tool-call').map(({ index }) => index)).toEqual([0, 1, 2, 3])
})

test('hands on images, previews marked as such', () => {
  const item = { type: 'image_generation_call', result: 'aWM=', output_format: 'webp' }
  const preview = { type: 'response.image_generation_call.partial_image', partial_image_b64: 'YQ==' }
  const decoded = decode([preview, itemDone(item), completed({ output: [item] })])
  expect(eventsOf(decoded, 'image-data')).toEqual([
    { type: 'image-data', mime_type: 'image/png', base64: 'YQ==', partial: true },
    { type: 'image-data', mime_type: 'image/webp', base64: 'aWM=', partial: false },
  ])
  expect(decoded.verdict).toBe('ok')
  // A preview alone is no result.
  expect(decode([preview, completed()]).verdict).toBe('failed: nothing_generated')
})
